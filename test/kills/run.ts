/**
 * What came of killed processes, wrong clocks and killed servers, as tables.
 *
 *     node test/kills/run.ts [--store x] [--life y] [--times 100] [--together 1] [--stop] [--wrong 'ignores versions']
 *     node test/kills/run.ts clocks [--store x] [--clock=-5h] [--life y]
 *     node test/kills/run.ts restarts [--store x] [--deaths 10] [--keys 8]
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { textOf, type Violation } from '../history/violation.ts';
import { CLOCKS, withWrongClocks } from './clocks.ts';
import { faketimeAvailable } from './faketime.ts';
import { MORTALS } from './mortal.ts';
import type { Place } from './place.ts';
import { withServerKilled } from './restarts.ts';
import { failureOf, type Plan, strikeEverywhere } from './scene.ts';
import { isLeftByTheStopped, leaseMsFor, SERVERS, togetherOn } from './servers.ts';
import { CLOCK_TITLE, clockLine, RESTART_TITLE, restartLine, rowsOf, sumOf, TITLE } from './table.ts';
import { WRONG } from './wrong.ts';

/** With what is left open. */
export function planOf(place: Place, given: Pick<Plan, 'store' | 'strike'> & Partial<Plan>): Plan {
  const together = given.together ?? togetherOn(given.store);
  return { times: 1, leaseMs: leaseMsFor(given.store, together), place, ...given, together };
}

/** As many as a person reads. */
const MOST_SHOWN = 10;

/** Only those that were given. */
const given = <O extends object>(options: O): { [K in keyof O]?: NonNullable<O[K]> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof O]?: NonNullable<O[K]> };

const isPlayed = (store: string, ofClocks: boolean, stop: boolean): boolean =>
  ofClocks ? !['file', 'azure-blob'].includes(store) : !stop || isLeftByTheStopped(store);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      store: { type: 'string', multiple: true },
      life: { type: 'string' },
      times: { type: 'string', default: '3' },
      /** How many lives share a process. 1: each has its own. */
      together: { type: 'string' },
      /** SIGSTOP past the lease, and SIGCONT, instead of SIGKILL. */
      stop: { type: 'boolean', default: false },
      wrong: { type: 'string' },
      clock: { type: 'string', multiple: true, default: [...CLOCKS] },
      deaths: { type: 'string', default: '3' },
      keys: { type: 'string', default: '8' },
    },
  });
  const { store: stores, life } = values;
  const wrong = WRONG.find((name) => name === values.wrong);
  if (wrong === undefined && values.wrong !== undefined) throw new Error(`wrong is one of ${WRONG.join(', ')}`);
  let violations = 0;
  const shows = (line: string, some: readonly Violation[], failures: readonly string[]): void => {
    console.log(line);
    violations += some.length;
    for (const failure of failures.slice(0, MOST_SHOWN)) console.error(failure);
  };

  if (positionals[0] === 'restarts') {
    console.log(RESTART_TITLE);
    for (const store of stores ?? Object.keys(MORTALS).filter((name) => name !== 'redis-without-a-file')) {
      const mortal = await MORTALS[store]?.();
      if (mortal === undefined) continue;
      try {
        const plan = { store, deaths: Number(values.deaths), keys: Number(values.keys) };
        const shown = await withServerKilled(mortal, plan);
        shows(restartLine(plan, shown), shown.violations, shown.violations.map(textOf));
      } finally {
        await mortal.stop();
      }
    }
    return violations;
  }

  const ofClocks = positionals[0] === 'clocks';
  if (ofClocks && !(await faketimeAvailable())) return 0;
  console.log(ofClocks ? CLOCK_TITLE : TITLE);
  for (const store of stores ?? Object.keys(SERVERS).filter((name) => isPlayed(name, ofClocks, values.stop))) {
    const started = await SERVERS[store]?.();
    if (started === undefined) continue;
    const { place } = started;
    try {
      if (ofClocks) {
        for (const victim of values.clock) {
          for (const warm of store === 'dynamodb' ? [true, false] : [false]) {
            const plan = { store, place, victim, warm, ...given({ life }) };
            const shown = await withWrongClocks(plan);
            shows(clockLine(plan, shown), shown.violations, shown.violations.map(textOf));
          }
        }
      } else {
        const together = values.together === undefined ? undefined : Number(values.together);
        const strike = values.stop ? 'SIGSTOP' : 'SIGKILL';
        const plan = planOf({ ...place, ...given({ wrong }) }, { store, strike, times: Number(values.times), ...given({ life, together }) });
        const shown = await strikeEverywhere(plan);
        const all = shown.rows.flatMap((row) => row.violations);
        shows(
          `${rowsOf(shown)}\n${sumOf(shown)}`,
          all,
          shown.rows.flatMap((row) => failureOf(plan, row)),
        );
      }
    } finally {
      await started.stop();
    }
  }
  return violations;
}

if (process.argv[1] === import.meta.filename) process.exitCode = (await main()) === 0 ? 0 : 1;
