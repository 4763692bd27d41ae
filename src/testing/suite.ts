/**
 * How a suite becomes tests of whichever runner is in use.
 *
 * @module
 */

/** `describe` of vitest, jest, mocha or `node:test`. */
export type Describe = (name: string, body: () => void) => unknown;
/** `it` of the same. The third argument, a limit in ms, is ignored by runners that take none. */
export type It = (title: string, body: () => Promise<void>, timeoutMs?: number) => unknown;

/** One promise of a port, as a sentence, and the code that would find it broken. */
export interface Case<Subject> {
  readonly title: string;
  run(subject: Subject): Promise<void>;
}

/** Races against an emulator take seconds on a small machine; a hang must still end. */
const CASE_TIMEOUT_MS = 120_000;

/** Registers each case with the runner; every case gets a subject of its own, which is cleaned up even when the case fails. */
export function register<Subject extends { readonly cleanUp?: () => Promise<void> }>(
  runner: { readonly describe: Describe; readonly it: It },
  name: string,
  groups: Readonly<Record<string, readonly Case<Subject>[]>>,
  create: () => Promise<Subject>,
): void {
  runner.describe(name, () => {
    for (const [group, cases] of Object.entries(groups)) {
      runner.describe(group, () => {
        for (const { title, run } of cases) {
          runner.it(
            title,
            async () => {
              const subject = await create();
              try {
                await run(subject);
              } finally {
                await subject.cleanUp?.();
              }
            },
            CASE_TIMEOUT_MS,
          );
        }
      });
    }
  });
}

/** Real time. The suites use it only where the subject has no clock that a test can move. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `work(0)` … `work(count - 1)` at the same time. */
export const atOnce = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
