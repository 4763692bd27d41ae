import { basename, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Round, testsUpTo } from './tests.ts';

const { MUTATED_FILE = 'src/core/decide.ts', MUTATION_ROUND = 'quick' } = process.env;
const ownName = basename(MUTATED_FILE, '.ts');

/** A mutant dies at the first test that fails: what is named after the file comes first, seeded searches last, when nearly every mutant is dead. */
class LikelyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      basename(moduleId).startsWith(ownName) ? 0 : moduleId.includes('/simulation/') ? 2 : 1;
    return [...files].sort((a, b) => place(a) - place(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    include: testsUpTo(MUTATED_FILE, MUTATION_ROUND as Round),
    // One worker for all files: to start one for each takes longer than the tests do.
    isolate: false,
    maxWorkers: 1,
    sequence: { sequencer: LikelyFirst },
    // Generous: where the machine is busy, a test that had no time would pass for a mutant that was noticed.
    testTimeout: 20_000,
  },
});
