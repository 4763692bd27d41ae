/**
 * S10: the traps of lock files, as `flock` of util-linux has them.
 *
 * @module
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Expect } from '../support/report.ts';
import { at, type Command, exitOf, FLOCK, flockAvailable, start } from './commands.ts';
import { type Home, homesOf, INSIDE, isInside, jobIn, LEAVES_A_PROCESS, letGo } from './s10-jobs.ts';
import type { Stage } from './stage.ts';

export async function plainLockFile(expect: Expect, stage: Stage): Promise<void> {
  if (!flockAvailable()) return expect('there is no flock on the path: left out', 'left out', 'left out');
  const { folder } = stage;
  const path = (name: string): string => join(folder, name);
  const lock = path('job.lock');
  const flock = (file: string, job: string, name: string, by: Home = { folder, user: undefined }): Command =>
    start(stage, [FLOCK, '-n', file, 'sh', '-c', job], { env: { HOME: by.folder, ...jobIn(by.folder, name) }, user: by.user });

  const one = flock(lock, INSIDE, 'one');
  await at(path('one.in'), one);
  expect('a job runs; the next one: exit code', await exitOf(flock(lock, 'true', 'next')), 1);
  expect('a job that fails with 1: exit code', await exitOf(flock(path('another.lock'), 'exit 1', 'fails')), 1);
  rmSync(lock);
  const two = flock(lock, INSIDE, 'two');
  await at(path('two.in'), two);
  expect('1. the lock file is deleted, the next comes: inside', ['one', 'two'].filter((name) => isInside(folder, name)).length, 2);
  letGo(folder, 'one');
  letGo(folder, 'two');
  await Promise.all([one.ended, two.ended]);

  expect('2. a job ends and leaves a process: exit code', await exitOf(flock(lock, LEAVES_A_PROCESS, 'leaves')), 0);
  const tries = [await exitOf(flock(lock, 'true', 'next')), await exitOf(flock(lock, 'true', 'next'))];
  expect('the next ones, as long as that lives: exit codes', tries, [1, 1]);
  rmSync(path('leaves.left'));

  const { homes } = await homesOf(stage);
  const jobs = homes.map((home) => flock(join(home.folder, 'job.lock'), INSIDE, 'user', home));
  await Promise.all(homes.map((home, index) => at(join(home.folder, 'user.in'), jobs[index])));
  expect('3. two users, a lock file in the home of each: inside', homes.filter((home) => isInside(home.folder, 'user')).length, 2);
  for (const home of homes) letGo(home.folder, 'user');
  await Promise.all(jobs.map(({ ended }) => ended));

  const holder = flock(path('report.lock'), INSIDE, 'holder');
  await at(path('holder.in'), holder);
  writeFileSync(path('report'), 'of the job');
  await start(stage, ['sh', '-c', 'printf "of somebody" > report']).ended;
  expect('4. who does not ask writes what the job writes', [isInside(folder, 'holder'), readFileSync(path('report'), 'utf8')], [true, 'of somebody']);
  letGo(folder, 'holder');
  await holder.ended;
}
