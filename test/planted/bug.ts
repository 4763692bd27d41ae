/**
 * A wrong version of our own code, and what has to notice it.
 *
 * @module
 */

/** In a file of the tree: exactly this text, once, becomes that. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Random faults, from seed 1 on. */
interface BySimulation {
  readonly detector: 'records' | 'leases';
  /** The most seeds it may take. */
  readonly budget: number;
}

/** Tests, where a simulated store cannot see it. */
export interface ByTests {
  readonly detector: 'tests';
  readonly file: string;
  /** Only tests whose titles match. */
  readonly title?: string;
  /** The most seconds it may take. */
  readonly budget: number;
  /** Only with `--long`: it starts a server, or another one of its kind is found by the same means. */
  readonly long?: true;
}

export type CaughtBy = BySimulation | ByTests;

export interface PlantedBug extends Patch {
  readonly name: string;
  /** Which peer has it, or which old bug of ours it is; and what it would do. */
  readonly why: string;
  /** Where one place is not enough: the same promise is kept twice. */
  readonly also?: readonly Patch[];
  readonly caughtBy: CaughtBy;
}

export const LEAST_BUGS = 24;
/** A promise that takes longer than this to be seen broken is as good as unguarded. */
export const MOST_SEEDS = 20_000;

/** Within so many seeds. */
export const inRecords = (budget: number): CaughtBy => ({ detector: 'records', budget });
export const inLeases = (budget: number): CaughtBy => ({ detector: 'leases', budget });
/** `file`: without `test/` and `.test.ts`. */
export const inTests = (file: string, title?: string, budget = 30): CaughtBy => ({
  detector: 'tests',
  file: `test/${file}.test.ts`,
  ...(title === undefined ? {} : { title }),
  budget,
});
/** Another one of its kind is found by the same means. */
export const alsoInTests = (file: string, title?: string): CaughtBy => ({ ...inTests(file, title), long: true }) as CaughtBy;
/** Against a server, which takes its time to start. */
export const onServer = (file: string, title?: string): CaughtBy => ({ ...inTests(file, title, 120), long: true }) as CaughtBy;
