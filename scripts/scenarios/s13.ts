/**
 * S13: nobody knows whether it is safe to retry.
 *
 * @module
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Expect } from '../support/report.ts';
import { at, type Ended, exitOf, MAIN, NODE, rerunsafe, start } from './commands.ts';
import { BACKENDS } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';

export const s13: Scenario = {
  id: 'S13',
  title: 'Nobody knows whether it is safe to retry',
  parts: [
    { on: WITHOUT, shows: 'a script that charges, and four ways in which it ended', play: without },
    { on: BACKENDS.sqlite, shows: 'what describe says before, and status and show afterwards', play: guarded },
  ],
};

/** It may be stopped, fail or be killed before its charge and after it. */
const SCRIPT = `end() {
  if [ -n "$STOPS" ]; then : > "$STOPS"; while [ ! -e "$STOPS-on" ]; do sleep 0.05; done; fi
  if [ "$ENDS" = "fails $1" ]; then exit 3; fi
  if [ "$ENDS" = "is killed $1" ]; then kill -9 $$; fi
}
end before; echo charged >> "$CHARGES"; end after`;
const WAYS = ['fails before', 'fails after', 'is killed before', 'is killed after'] as const;

const chargesIn = (file: string): number => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0);

async function without(expect: Expect, stage: Stage): Promise<void> {
  const files = WAYS.map((way) => join(stage.folder, way));
  const play = (CHARGES: string, ENDS = '') => exitOf(start(stage, ['sh', '-c', SCRIPT], { env: { CHARGES, ENDS } }));
  const codes = await Promise.all(WAYS.map((way, index) => play(files[index] ?? '', way)));
  const charges = files.map(chargesIn);
  expect('failed before its charge, and after: exit codes', codes.slice(0, 2), [3, 3]);
  expect('charges', charges.slice(0, 2), [0, 1]);
  expect('killed before its charge, and after', codes.slice(2), ['SIGKILL', 'SIGKILL']);
  expect('charges', charges.slice(2), [0, 1]);
  await Promise.all(files.map((file) => play(file)));
  expect('somebody starts all four again: charges', files.map(chargesIn), [1, 2, 1, 2]);
}

interface Answer {
  readonly question: string;
  readonly answer: string;
}
async function guarded(expect: Expect, stage: Stage): Promise<void> {
  const bin = programIn(stage);
  const chargesOf = (key: string): string => join(stage.folder, `charges of ${key}`);
  const ask = (...args: readonly string[]): Promise<Ended> => rerunsafe(stage, args).ended;
  const command = (key: string): readonly string[] => ['--key', key, '--', 'sh', '-c', SCRIPT];
  const run = (key: string, env: Readonly<Record<string, string>> = {}) =>
    rerunsafe(stage, ['run', ...command(key)], { env: { CHARGES: chargesOf(key), ...env } });
  const typed = (line: string): Promise<Ended> => start(stage, ['sh', '-c', line], { env: { PATH: `${bin}:${process.env.PATH}` } }).ended;
  const status = async (key: string) => {
    const { code, stdout } = await ask('status', key, '--json');
    const { state, note } = JSON.parse(stdout) as { state: string; note?: string | null };
    return note === null || note === undefined ? [state, code] : [state, code, note];
  };

  const described = (JSON.parse((await ask('describe', '--json', ...command('invoice 1'))).stdout) as { answers: readonly Answer[] }).answers;
  const said = (begin: string): string => described.find(({ question }) => question.startsWith(begin))?.answer ?? 'nothing';
  expect('describe: is it safe to start it again?', said('Is it safe').split('.')[0], 'Yes');
  expect('it failed. And now?', said('It failed'), 'It may be started again.');
  expect('nobody knows how it ended. And now?', said('Nobody knows').split(' until')[0], 'It is blocked (exit code 76)');
  expect('how long is it remembered that it is done?', said('How long is it'), 'For ever.');
  const look = /`(rerunsafe status [^`]+)`/.exec(said('How do I look'))?.[1] ?? 'false';
  const looked = await typed(look);
  expect('the command that it names, typed', [looked.stdout.split(',')[0], looked.code], ['"invoice 1": unknown', 3]);
  expect('neither has left anything: records', (await ask('list', '--json')).stdout.split('\n').length - 1, 0);

  const failing = async () => {
    const STOPS = join(stage.folder, 'stops');
    const running = run('invoice 1', { STOPS, ENDS: 'fails before' });
    await at(STOPS, running);
    const during = await status('invoice 1');
    writeFileSync(`${STOPS}-on`, '');
    const code = await exitOf(running);
    const [after, words] = await Promise.all([status('invoice 1'), ask('status', 'invoice 1')]);
    const again = await exitOf(run('invoice 1'));
    const [done, once] = await Promise.all([status('invoice 1'), exitOf(run('invoice 1'))]);
    return { during, code, after, words: words.stdout.trim().split('; ')[1], again, done, once };
  };
  const killed = async () => {
    const code = await exitOf(run('invoice 2', { ENDS: 'is killed after' }));
    const [after, words, show] = await Promise.all([status('invoice 2'), ask('status', 'invoice 2'), ask('show', 'invoice 2')]);
    const again = await exitOf(run('invoice 2'));
    const next = /^ *(rerunsafe resolve .*--as done)/m.exec(words.stdout)?.[1] ?? 'false';
    const resolved = await exitOf({ ended: typed(`${next} --why 'ticket 4712'`) });
    const [done, why, once] = await Promise.all([status('invoice 2'), ask('show', 'invoice 2'), exitOf(run('invoice 2'))]);
    return { code, after: after.slice(0, 2), show: show.stdout, again, resolved, done, why: why.stdout, once };
  };
  const [one, two] = await Promise.all([failing(), killed()]);

  expect('while it runs: status, its exit code', one.during, ['running', 75]);
  expect('it fails: exit code', one.code, 3);
  expect('status, its exit code, how it ended', one.after, ['failed', 1, 'exit code 3']);
  expect('what now', one.words, 'the next run tries it again');
  expect('it is started again', one.again, 0);
  expect('status', one.done, ['done', 0]);
  expect('once more: not run; charges', [one.once, chargesIn(chargesOf('invoice 1'))], [0, 1]);

  expect('another is killed after its charge: exit code', two.code, 137);
  expect('status: nobody knows how it ended', two.after, ['lapsed', 3]);
  expect('show: how it ended', /^note +(ended by \w+)/m.exec(two.show)?.[1], 'ended by SIGKILL');
  expect('it is started again: blocked', two.again, 76);
  expect('a person looks, and types what status says', two.resolved, 0);
  expect('status', two.done, ['done', 0]);
  expect('show: why', /\((ticket \d+)\)/.exec(two.why)?.[1], 'ticket 4712');
  expect('it is started again: not run; charges', [two.once, chargesIn(chargesOf('invoice 2'))], [0, 1]);
}

/** A folder with `rerunsafe` in it, for what a person types. */
function programIn(stage: Stage): string {
  const folder = join(stage.folder, 'bin');
  const path = join(folder, 'rerunsafe');
  mkdirSync(folder);
  writeFileSync(path, `#!/bin/sh\nexec ${[...NODE, MAIN].map((word) => `'${word}'`).join(' ')} "$@"\n`);
  chmodSync(path, 0o755);
  return folder;
}
