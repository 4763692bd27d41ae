import { defineConfig } from 'vitest/config';
import { ClosingLine } from './scripts/closing-line.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Emulators share the machine with the tests; more workers only make clocks slow and leases run out.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    reporters: ['default', new ClosingLine()],
  },
});
