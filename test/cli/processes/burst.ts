/**
 * Many processes that ask for the same at the same moment: each has loaded all it needs, and waits for the others before it asks the store.
 *
 * @module
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLAIMS } from './moments.ts';
import { type Behaviour, behaving, COMMAND } from './witness.ts';
import { letGo, reached, type Wrapper, type Wrappers } from './wrappers.ts';

/** In which all have seen that they are to go. */
const LOOKS_MS = 150;

export interface Burst {
  readonly wrappers: readonly Wrapper[];
  /** How far the first and the last of them were apart when they asked, ms; and how many had asked before anybody had an answer. Once all have an answer. */
  spread(): { readonly apartMs: number; readonly beforeFirstAnswer: number };
}

/** Resolves when they have been let go. `options(n)`: those of the n-th. */
export async function burst(wrappers: Wrappers, many: number, options: (n: number) => readonly string[], behaviour: Behaviour): Promise<Burst> {
  const folder = wrappers.path(`burst-${many}-${Math.random().toString(36).slice(2)}`);
  mkdirSync(folder);
  const env = behaving(behaviour);
  const all = Array.from({ length: many }, (_, n) =>
    wrappers.start(['run', '--json', ...options(n), '--', ...COMMAND], { env, staged: { folder, at: 'claim', does: 'wait' } }),
  );
  // One that came to its end before is not waited for in vain.
  const early = all.map(async ({ ended }) => {
    const { code, signal, stderr } = await ended;
    throw new Error(`one of them ended before it asked (${code ?? signal}): ${stderr}`);
  });
  for (const one of early) one.catch(() => {});
  await Promise.race([reached(folder, many), ...early]);
  letGo(folder, LOOKS_MS);
  return {
    wrappers: all,
    spread() {
      const asked = readFileSync(join(folder, CLAIMS), 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' ').map(Number) as [beganMs: number, answeredMs: number]);
      const began = asked.map(([ms]) => ms);
      const firstAnswerMs = Math.min(...asked.map(([, ms]) => ms));
      return { apartMs: Math.max(...began) - Math.min(...began), beforeFirstAnswer: began.filter((ms) => ms <= firstAnswerMs).length };
    },
  };
}
