/**
 * One process of one version. Its lines go to a file that all append to: what was told before a SIGKILL stays told.
 *
 * @module
 */
import { existsSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Calls, callAll } from './calls.ts';
import { engineOf, type Version } from './engines.ts';
import { openPlace, type Place } from './place.ts';

export interface Task {
  readonly place: Place;
  readonly calls: Calls;
  readonly lines: string;
  /** All that are to be there before the first call is made. */
  readonly versions: readonly Version[];
}

const { place, calls, lines, versions } = JSON.parse(process.argv[2] ?? '') as Task;
const file = openSync(lines, 'a');
const engine = await engineOf(calls.version);
const opened = await openPlace(engine, place);
writeFileSync(`${lines}.${calls.version}`, '');
while (!versions.every((version) => existsSync(`${lines}.${version}`))) await pause(10);
const ways = {
  crash: (): Promise<never> => {
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => {});
  },
  // No timer and no renewal gets a turn.
  stall: (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
};
await callAll(engine, opened, calls, ways, (line) => writeSync(file, `${JSON.stringify(line)}\n`));
await opened.close();
