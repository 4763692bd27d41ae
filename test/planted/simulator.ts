/**
 * The simulator as a program of its own, so that it runs in a copy of the tree: `node simulator.ts records 20000` prints the first seed that finds
 * something. The one place here that knows where the simulator lives.
 *
 * @module
 */
import { simulateLeases } from '../simulation/leases.ts';
import { simulateRecords } from '../simulation/records.ts';
import { Tally } from '../simulation/tally.ts';

export interface Simulated {
  /** How many were run, the last one included. */
  readonly seeds: number;
  /** What the last of them found; nothing, if none did. */
  readonly wrong: readonly string[];
}

const SIMULATIONS = { records: simulateRecords, leases: simulateLeases };

async function simulated(simulate: (seed: number, tally: Tally) => Promise<string[]>, most: number): Promise<Simulated> {
  const unhandled: string[] = [];
  process.on('unhandledRejection', (reason) => unhandled.push(`I12 unhandled rejection: ${String(reason)}`));
  for (let seed = 1; seed <= most; seed++) {
    const wrong = await simulate(seed, new Tally()).catch((error: unknown) => [`the simulation ended with ${String(error)}`]);
    if (wrong.length + unhandled.length > 0) return { seeds: seed, wrong: [...wrong, ...unhandled] };
  }
  return { seeds: most, wrong: [] };
}

if (process.argv[1] === import.meta.filename) {
  const [which = '', most] = process.argv.slice(2);
  // Thousands of steps are left alone on purpose, and each is warned of.
  process.emitWarning = () => {};
  console.log(JSON.stringify(await simulated(SIMULATIONS[which as keyof typeof SIMULATIONS], Number(most))));
}
