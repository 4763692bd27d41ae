/**
 * Loaded into a `rerunsafe` before it starts (`--import`): stops it at a moment that nobody can hit from outside, and writes down when it asked the store.
 *
 * @module
 */
import type { ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * - `claim`: all is loaded, the store was asked nothing. `claimed`: it has answered, nothing was made of the answer.
 * - `watcher`: the watcher has started, the command not. `gate`: the command's process has, and waits to be told to go.
 * - `ended`: the command has, nothing of that is written. `written`: the outcome is, and nobody knows.
 */
export const MOMENTS = ['claim', 'claimed', 'watcher', 'gate', 'ended', 'written'] as const;
export type Moment = (typeof MOMENTS)[number];

export interface Staged {
  readonly folder: string;
  readonly at?: Moment;
  /** `wait`: until the file {@link GO} is in the folder. Where that holds a moment (epoch ms), until then: they go on at once. */
  readonly does?: 'die' | 'wait';
}

export const STAGED = 'RERUNSAFE_TEST_STAGED';
export const GO = 'go';
/** A line for each that has reached the moment. Holds a number: of the process that was spawned, where it is about one. */
export const REACHED = 'reached';
/** A line for each call that asked for a claim: when it asked, and when it had an answer, epoch ms. */
export const CLAIMS = 'claims';

const POLL_MS = 50;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const staged = process.env[STAGED];
if (staged !== undefined) await stage(JSON.parse(staged) as Staged);

async function stage({ folder, at, does = 'die' }: Staged): Promise<void> {
  const reached = (moment: Moment, pid = process.pid): boolean => {
    if (moment !== at) return false;
    appendFileSync(join(folder, REACHED), `${pid}\n`);
    if (does === 'die') process.kill(process.pid, 'SIGKILL');
    return true;
  };
  const isToldToGo = (): boolean => existsSync(join(folder, GO));
  const pass = async (moment: Moment): Promise<void> => {
    if (!reached(moment)) return;
    while (!isToldToGo()) await pause(POLL_MS);
    await pause(Math.max(0, Number(readFileSync(join(folder, GO), 'utf8')) - Date.now()));
  };

  const main = process.argv[1] ?? '';
  const core = async (name: string, of: string): Promise<Methods> => {
    const module = await import(new URL(`../core/${name}${extname(main)}`, pathToFileURL(main)).href);
    return (module as Record<string, { prototype: Methods }>)[of]?.prototype as Methods;
  };
  const around = (methods: Methods, name: string, before: Moment, after: Moment, seen = (_: number): void => {}): void => {
    const original = methods[name] as Method;
    methods[name] = async function (this: unknown, ...args: unknown[]) {
      await pass(before);
      const beganMs = performance.timeOrigin + performance.now();
      const result = await original.apply(this, args);
      seen(beganMs);
      await pass(after);
      return result;
    };
  };
  const timed = (beganMs: number): void => appendFileSync(join(folder, CLAIMS), `${beganMs} ${performance.timeOrigin + performance.now()}\n`);
  around(await core('claim', 'Claimer'), 'claim', 'claim', 'claimed', timed);
  const acquisition = await core('acquisition', 'Acquisition');
  const acquire = acquisition.acquire as Method;
  acquisition.acquire = async function (this: unknown, ...args: unknown[]) {
    const got = (await acquire.apply(this, args)) as { readonly lease?: Methods };
    // A lease may be taken apart: its functions are its own.
    if (got.lease !== undefined) around(got.lease, 'release', 'ended', 'written');
    return got;
  };
  around(acquisition, 'acquire', 'claim', 'claimed', timed);
  const attempt = await core('attempt', 'Attempt');
  for (const outcome of ['complete', 'giveUp', 'block']) around(attempt, outcome, 'ended', 'written');

  const processes = process.getBuiltinModule('node:child_process') as unknown as { spawn: (...args: unknown[]) => ChildProcess };
  const { spawn } = processes;
  let spawned = 0;
  processes.spawn = (...args) => {
    const child = spawn(...args);
    const moment = (['watcher', 'gate'] as const)[spawned++];
    if (moment !== undefined && reached(moment, child.pid))
      while (!isToldToGo()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    return child;
  };
  syncBuiltinESMExports();
}

type Method = (...args: unknown[]) => Promise<unknown>;
type Methods = Record<string, Method>;
