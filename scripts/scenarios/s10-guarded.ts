/**
 * S10: the same traps, and `rerunsafe lock` in a place for all users of the host.
 *
 * @module
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Expect } from '../support/report.ts';
import { at, type Command, eventually, exitOf, NODE, rerunsafe, start } from './commands.ts';
import { type Home, homesOf, INSIDE, isInside, jobIn, LEAVES_A_PROCESS, letGo } from './s10-jobs.ts';
import type { Stage } from './stage.ts';

const AS_USER = join(import.meta.dirname, 's10-user-worker.ts');
const WRITES = [...NODE, join(import.meta.dirname, 's10-worker.ts')];
/** Of jobs that are to be stopped when they find that it is lost. */
const SHORT_LEASE = ['--lease', '3s'];

interface Crew {
  readonly host: string;
  readonly homes: readonly [Home, Home];
  lock(name: string, job: string, as?: string, options?: readonly string[], by?: Home): Command;
}

async function crewOf(stage: Stage, kind: 'file' | 'sqlite'): Promise<Crew> {
  const { host, homes } = await homesOf(stage);
  const place = { RERUNSAFE_STORE: `${kind}:host`, RERUNSAFE_HOST_DIR: host };
  await rerunsafe(stage, ['set-up'], { env: place }).ended;
  return {
    host,
    homes,
    lock(name, job, as = name, options = [], by) {
      const args = ['lock', name, ...options, '--', 'sh', '-c', job];
      if (by === undefined) return rerunsafe(stage, args, { env: { ...place, ...jobIn(stage.folder, as) } });
      const user = by.user === undefined ? {} : { AS_UID: String(by.user.uid), AS_GID: String(by.user.gid) };
      return start(stage, [...NODE, AS_USER, ...args], { env: { ...place, HOME: by.folder, ...jobIn(by.folder, as), ...user } });
    },
  };
}

export async function inFiles(expect: Expect, stage: Stage): Promise<void> {
  const crew = await crewOf(stage, 'file');
  const ofLock = (name: string): string =>
    join(crew.host, 'leases', readdirSync(join(crew.host, 'leases')).find((file) => file.startsWith(name)) ?? '');
  const [tell, deleted, stopped, killed] = await Promise.all([
    likeAnyPlace(stage, crew),
    overtaken(stage, crew, () => rmSync(ofLock('overtaken'))),
    whileHeld(stage, crew, 'stopped', async () => rmSync(ofLock('stopped'))),
    killedHolder(stage, crew, () => statSync(ofLock('killed')).ino),
  ]);
  tell(expect);
  expect('1. a run more, and the lock file is the same one', killed.same, true);
  expect('somebody deletes it, the next comes: inside', deleted.inside, 2);
  expect('the next has the larger token, and writes a report', deleted.second, 'written');
  expect('the first would write it late, under its fence', deleted.first, 'STALE_TOKEN');
  expect('the report', deleted.report, 'of the second');
  expect('and the first is stopped when it renews: exit code', stopped.code, 125);
  expect('kill -9 of a holder, its lease has 60 s: the next', killed.next, 0);
  expect('the command of the killed one has been ended too', killed.ended, true);
}

export async function inADatabase(expect: Expect, stage: Stage): Promise<void> {
  const crew = await crewOf(stage, 'sqlite');
  const tell = await likeAnyPlace(stage, crew);
  const records = join(crew.host, 'records');
  const stopped = await whileHeld(stage, crew, 'stopped', async () => {
    for (const file of readdirSync(records)) rmSync(join(records, file));
    return exitOf(crew.lock('stopped', INSIDE, 'next'));
  });
  tell(expect);
  expect('1. the whole database is deleted: the next is refused', stopped.next, 78);
  expect('and the job is stopped when it renews: exit code', stopped.code, 125);
}

/** Tells in one order what was seen side by side. */
async function likeAnyPlace(stage: Stage, crew: Crew): Promise<(expect: Expect) => void> {
  const { folder } = stage;
  const path = (name: string): string => join(folder, name);
  const busy = async () => {
    const job = crew.lock('busy', INSIDE);
    await at(path('busy.in'), job);
    const next = await crew.lock('busy', 'true').ended;
    await start(stage, ['sh', '-c', 'printf "of somebody" > plain']).ended;
    const plain = [isInside(folder, 'busy'), readFileSync(path('plain'), 'utf8')];
    letGo(folder, 'busy');
    return { next, plain, code: await exitOf(job), failing: await exitOf(crew.lock('busy', 'exit 1')) };
  };
  const left = async () => {
    const leaves = await exitOf(crew.lock('left', LEAVES_A_PROCESS, 'leaves'));
    const next = [await exitOf(crew.lock('left', 'true')), await exitOf(crew.lock('left', 'true'))];
    rmSync(path('leaves.left'));
    return { leaves, next };
  };
  const users = async () => {
    const [one, other] = crew.homes;
    const job = crew.lock('users', INSIDE, 'user', [], one);
    await at(join(one.folder, 'user.in'), job);
    const code = await exitOf(crew.lock('users', INSIDE, 'user', [], other));
    const inside = crew.homes.filter((home) => isInside(home.folder, 'user')).length;
    letGo(one.folder, 'user');
    await job.ended;
    return { code, inside };
  };
  const byHand = async () => (await start(stage, [...WRITES, path('by-hand'), 'of somebody']).ended).stdout.trim();
  const seen = await Promise.all([busy(), left(), users(), byHand()]);
  return (expect) => {
    const [b, l, u, hand] = seen;
    expect('a job runs; the next one: exit code', b.next.code, 75);
    expect('it is told who holds the lock', / pid \d+ holds the lock/.test(b.next.stderr), true);
    expect('a job that fails with 1: exit code', b.failing, 1);
    expect('2. a job ends and leaves a process: exit code', l.leaves, 0);
    expect('the next ones, as long as that lives: exit codes', l.next, [0, 0]);
    expect('3. two users: inside; the other: exit code', [u.inside, u.code], [1, 75]);
    expect('4. who does not ask writes: a lock is an agreement', b.plain, [true, 'of somebody']);
    expect('where the writer wants a fence, one by hand has none', hand, 'INVALID_OPTIONS');
  };
}

async function whileHeld(stage: Stage, crew: Crew, name: string, act: () => Promise<unknown>): Promise<{ next: unknown; code: unknown }> {
  const job = crew.lock(name, INSIDE, name, SHORT_LEASE);
  await at(join(stage.folder, `${name}.in`), job);
  return { next: await act(), code: await exitOf(job) };
}

/** A holder that has lost the lock and does not know it yet, since it renews after 20 s. */
async function overtaken(stage: Stage, crew: Crew, loses: () => void) {
  const { folder } = stage;
  const report = join(folder, 'report');
  const writing = (text: string): string => `${INSIDE}; ${[...WRITES, report, text].map((word) => `'${word}'`).join(' ')}`;
  const first = crew.lock('overtaken', writing('of the first'), 'first');
  await at(join(folder, 'first.in'), first);
  loses();
  const second = crew.lock('overtaken', writing('of the second'), 'second');
  await at(join(folder, 'second.in'), second);
  const inside = ['first', 'second'].filter((name) => isInside(folder, name)).length;
  const said: string[] = [];
  for (const [name, job] of [
    ['second', second],
    ['first', first],
  ] as const) {
    letGo(folder, name);
    said.push((await job.ended).stdout.trim());
  }
  return { inside, second: said[0], first: said[1], report: readFileSync(report, 'utf8') };
}

async function killedHolder(stage: Stage, crew: Crew, inode: () => number): Promise<{ next: unknown; ended: boolean; same: boolean }> {
  const job = crew.lock('killed', INSIDE);
  const began = join(stage.folder, 'killed.in');
  await at(began, job);
  const before = inode();
  job.kill();
  await job.ended;
  const next = await exitOf(crew.lock('killed', 'true'));
  await eventually(() => !isAlive(Number(readFileSync(began, 'utf8'))), 'the command of a killed guard has ended');
  return { next, ended: true, same: inode() === before };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
