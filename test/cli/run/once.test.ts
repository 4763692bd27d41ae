import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../child/processes.ts';
import { type Ended, Wrappers } from '../processes/wrappers.ts';

let wrappers: Wrappers;
let keys = 0;

beforeAll(() => {
  wrappers = new Wrappers();
});
afterAll(() => wrappers?.clean());

const freshKey = (): string => `key ${++keys}`;
const run = (key: string, options: readonly string[], command: readonly string[] = ['true']): Promise<Ended> =>
  wrappers.ask('run', '--json', '--key', key, ...options, '--', ...command);
const sh = (script: string): string[] => ['sh', '-c', script];
const told = ({ code, stdout, report }: Ended) => ({ code, stdout, became: report?.became });
const stateOf = async (key: string): Promise<unknown> =>
  (JSON.parse((await wrappers.ask('status', '--json', key)).stdout) as { state: unknown }).state;

describe('what becomes of a command, and what the next call makes of it', () => {
  it.each([
    { how: 'ends with 0', script: 'echo a', first: [0, 'succeeded', 'a\n'], state: 'done', next: [0, 'already-done'] },
    { how: 'fails', script: 'exit 3', first: [3, 'failed', ''], state: 'failed', next: [3, 'failed'] },
    {
      how: 'fails, --on-failure block',
      options: ['--on-failure', 'block'],
      script: 'exit 3',
      first: [3, 'failed', ''],
      state: 'blocked',
      next: [76, 'blocked'],
    },
    { how: 'is killed', script: 'kill -9 $$', first: [137, 'unknown', ''], state: 'lapsed', next: [76, 'blocked'] },
    {
      how: 'is killed, --on-unknown retry',
      options: ['--on-unknown', 'retry'],
      script: 'kill -9 $$',
      first: [137, 'unknown', ''],
      state: 'lapsed',
      next: [137, 'unknown'],
    },
    {
      how: 'takes too long',
      options: ['--timeout', '200ms'],
      script: 'sleep 60',
      first: [124, 'unknown', ''],
      state: 'lapsed',
      next: [76, 'blocked'],
    },
    { how: 'cannot be started', command: ['no-such-command'], first: [127, 'not-started', ''], state: 'none', next: [127, 'not-started'] },
    { how: 'is no program', command: ['/etc/passwd'], first: [126, 'not-started', ''], state: 'none', next: [126, 'not-started'] },
    {
      how: 'brings nothing about',
      options: ['--creates', 'nowhere'],
      script: 'true',
      first: [73, 'failed', ''],
      state: 'failed',
      next: [73, 'failed'],
    },
    {
      how: 'is done, and tells so by another code',
      options: ['--done-exit', '9'],
      script: 'true',
      first: [0, 'succeeded', ''],
      state: 'done',
      next: [9, 'already-done'],
    },
    {
      how: 'fails once too often',
      options: ['--max-attempts', '1'],
      script: 'exit 3',
      first: [3, 'failed', ''],
      state: 'failed',
      next: [76, 'blocked'],
    },
  ])('I3 I8 one that $how', async ({ options = [], script, command = sh(script ?? ''), first, state, next }) => {
    const key = freshKey();
    expect(told(await run(key, options, command))).toEqual({ code: first[0], became: first[1], stdout: first[2] });
    expect(await stateOf(key)).toBe(state);
    const second = await run(key, options, command);
    expect([second.code, second.report?.became]).toEqual(next);
  });

  it('says how it ended to whoever looks later', async () => {
    const key = freshKey();
    await run(key, ['--on-failure', 'block'], sh('exit 41'));
    expect((await wrappers.ask('status', key)).stdout).toContain('exit code 41');
    expect((await wrappers.ask('resolve', key, '--as', 'not-done', '--why', 'looked')).code).toBe(0);
    expect(told(await run(key, ['--on-failure', 'block'], sh('exit 41')))).toMatchObject({ code: 41, became: 'failed' });
  });
});

describe('I9 what must be the same under one key', () => {
  it.each([
    { what: 'arguments', first: [[], ['echo', 'a']], second: [[], ['echo', 'b']] },
    { what: 'a value', first: [['--fp-value', 'a'], ['true']], second: [['--fp-value', 'b'], ['true']] },
    { what: 'a variable', first: [['--fp-env', 'PATH'], ['true']], second: [['--fp-env', 'HOME'], ['true']] },
  ])('$what: otherwise nothing is run, or it is run again where that is asked for', async ({ first, second }) => {
    const key = freshKey();
    await run(key, first[0] as string[], first[1]);
    const again = (await run(key, second[0] as string[], second[1])) as Ended;
    expect(told(again)).toEqual({ code: 65, became: 'mismatch', stdout: '' });
    expect((await run(key, [...(second[0] as string[]), '--on-mismatch', 'rerun'], second[1])).report).toMatchObject({
      became: 'succeeded',
      attempt: 1,
    });
    expect((await run(key, second[0] as string[], second[1])).report?.became).toBe('already-done');
  });

  it('files, by their content', async () => {
    const [key, file] = [freshKey(), wrappers.path('input.sql')];
    const once = () => run(key, ['--fp-file', '*.sql', '--on-mismatch', 'rerun']);
    writeFileSync(file, 'one');
    expect((await once()).report?.became).toBe('succeeded');
    expect((await once()).report?.became).toBe('already-done');
    writeFileSync(file, 'two');
    expect((await once()).report?.became).toBe('succeeded');
  });

  it('not what --no-fp-args leaves free', async () => {
    const key = freshKey();
    await run(key, ['--no-fp-args'], ['echo', 'a']);
    expect((await run(key, ['--no-fp-args'], ['echo', 'b'])).report?.became).toBe('already-done');
  });

  it('I8 another input where nobody knows how the first ended is for a person to decide', async () => {
    const key = freshKey();
    await run(key, ['--fp-value', '1', '--no-fp-args'], sh('kill -9 $$'));
    const rerun = ['--fp-value', '2', '--no-fp-args', '--on-mismatch', 'rerun'];
    expect(told(await run(key, rerun))).toMatchObject({ code: 76, became: 'blocked' });
    expect((await run(key, [...rerun, '--on-unknown', 'retry'])).report?.became).toBe('succeeded');
  });
});

describe('done is believed only while it can be seen', () => {
  it('by a path: gone, it runs again, once', async () => {
    const [key, path] = [freshKey(), wrappers.path('made')];
    const make = () => run(key, ['--creates', path], ['touch', path]);
    expect((await make()).report?.became).toBe('succeeded');
    expect((await make()).report?.became).toBe('already-done');
    const { rmSync } = await import('node:fs');
    rmSync(path);
    expect((await make()).report?.became).toBe('succeeded');
    expect(existsSync(path)).toBe(true);
  });

  it('by a command, whose output is not the command’s own', async () => {
    const [key, path] = [freshKey(), wrappers.path('answer')];
    const ask = () => run(key, ['--verify', `echo asked; test -e ${path}`], ['echo', 'ran']);
    expect(told(await ask())).toEqual({ code: 73, became: 'failed', stdout: 'ran\n' });
    writeFileSync(path, '');
    expect(told(await ask())).toEqual({ code: 0, became: 'succeeded', stdout: 'ran\n' });
    expect(told(await ask())).toEqual({ code: 0, became: 'already-done', stdout: '' });
  });
});

describe('what is told', () => {
  it('captured output, again, byte for byte and each on its stream', async () => {
    const key = freshKey();
    const options = ['--capture', 'tail:1k', '--replay'];
    const script = sh("printf 'out\\n'; printf 'err\\n' >&2");
    const first = await run(key, options, script);
    const second = await run(key, options, script);
    expect([first.stdout, second.stdout]).toEqual(['out\n', 'out\n']);
    expect(second.stderr).toMatch(/^err\n/);
  });

  it('the last words of one that failed, to whoever looks later', async () => {
    const key = freshKey();
    await run(key, ['--capture', 'tail:1k', '--on-failure', 'block'], sh('echo begun; echo "no such table" >&2; exit 3'));
    expect((await wrappers.ask('show', key)).stdout).toMatch(/note +exit code 3; its output ended with: .*no such table/);
  });

  it('who is running it, and what a person does about one that is blocked', async () => {
    const key = freshKey();
    const begun = wrappers.path('begun');
    const slow = sh(`: > ${begun}; sleep 20`);
    const holder = wrappers.start(['run', '--key', key, '--', ...slow]);
    await until(() => existsSync(begun), 'it runs');
    let { report } = await run(key, [], slow);
    expect(report?.message).toMatch(/^.+@.+ pid \d+ is running it$/);
    holder.kill('SIGTERM');
    await holder.ended;
    ({ report } = await run(key, [], slow));
    expect(report?.message).toContain('resolve');
  });

  it('I3 output that the store cannot take makes nothing run again', async () => {
    const key = freshKey();
    const url = `sqlite:${wrappers.path('small.db')}`;
    await wrappers.ask('set-up', '--store', url);
    const options = ['--store', url, '--capture', 'tail:8m', '--replay'];
    const noise = sh('head -c 8m /dev/urandom 2>/dev/null || head -c 8388608 /dev/urandom');
    expect((await run(key, options, noise)).report?.became).toBe('succeeded');
    expect((await run(key, options, noise)).report?.became).toBe('already-done');
  });

  it('a report in a file, and as JSON beside the command', async () => {
    const [key, file] = [freshKey(), wrappers.path('report.json')];
    const { report } = await run(key, ['--report', file], ['true']);
    const { became, attempt, token, saved, exitCode, operation } = JSON.parse(readFileSync(file, 'utf8'));
    expect({ became, attempt, saved, exitCode, operation }).toEqual({
      became: 'succeeded',
      attempt: 1,
      saved: true,
      exitCode: 0,
      operation: 'script',
    });
    expect(token).toBe(report?.token);
  });

  it('nothing with --quiet; in a log, only that nothing was run and why', async () => {
    const key = freshKey();
    const plain = (...options: string[]) => wrappers.ask('run', '--key', key, ...options, '--', 'true');
    expect((await plain()).stderr).toBe('');
    expect((await plain()).stderr).toMatch(/^rerunsafe: "key \d+": already done \(.*\); not run again\n$/);
    expect((await plain('--quiet')).stderr).toBe('');
  });

  it('what would happen, without any of it', async () => {
    const key = freshKey();
    const dry = async (): Promise<unknown[]> => {
      const { code, report } = await run(key, ['--dry-run'], ['true']);
      return [code, report?.became];
    };
    expect(await dry()).toEqual([0, 'would-run']);
    expect(await stateOf(key)).toBe('none');
    await run(key, []);
    expect(await dry()).toEqual([0, 'already-done']);
  });

  it('to the command: its key, attempt, token and fence, and nothing of a guard around this one', async () => {
    const key = freshKey();
    const names = 'IDEMPOTENCY_KEY IDEMPOTENCY_ATTEMPT IDEMPOTENCY_FENCING_TOKEN RERUNSAFE_STORE RERUNSAFE_FENCE RERUNSAFE_SLOT';
    const show = sh(`for name in ${names}; do printenv $name || echo; done; exit 1`);
    const seen = async (): Promise<string[]> => (await run(key, [], show)).stdout.split('\n');
    const [first, second] = [await seen(), await seen()];
    expect(first[0]).toMatch(/^[\w-]{43}$/);
    expect(second[0]).toBe(first[0]);
    expect([first[1], second[1]]).toEqual(['1', '2']);
    expect(Number(second[2])).toBeGreaterThan(Number(first[2]));
    expect(first[3]).toBe('sqlite:');
    expect(JSON.parse(second[4] ?? '')).toMatchObject({ kind: 'run', token: Number(second[2]) });
    expect(first[5]).toBe('');
  });
});

describe('bad input: nothing runs', () => {
  it.each([
    [['run', '--', 'true'], /--key is missing/],
    [['run', '--key', 'k'], /command/],
    [['run', '--key', '', '--', 'true'], /empty/],
    [['run', '--key', '--', 'echo', 'deploy'], /--key has no value/],
    [['run', '--key', '--scope', 'a', '--', 'true'], /--key has no value/],
    [['run', '--key', 'k', '--', 'rm', 'a\uFFFD'], /not UTF-8/],
    [['run', '--key', 'migrate-', '--', 'true'], /part of it were empty/],
    [['run', '--key', `migrate $${'{{ github.sha }}'}`, '--', 'true'], /not filled in/],
    [['run', '--key', 'k', 'echo', 'hi', '--timeout', '5s'], /stands after --/],
    [['lock', 'k', 'echo', 'hi'], /stands after --/],
    [['complete', 'tcsh'], /bash/],
    [['run', '--key', 'k', '--mode', 'slot', '--slot', '1h', '--at', '2100-01-01T00:00Z', '--', 'true'], /in the future/],
    [['run', '--key', 'k', '--lease', '100ms', '--', 'true'], /--lease/],
    [['run', '--key', '{git.sha}', '--', 'true'], /git/],
    [['run', '--key', '{env.NOT_SET}', '--', 'true'], /NOT_SET/],
    [['run', '--key', 'k', '--ttl', '10', '--', 'true'], /unit/],
    [['run', '--key', 'k', '--ttl', '10s', '--', 'true'], /longer than --lease/],
    [['run', '--key', 'k', '--slot', '1h', '--', 'true'], /--slot has no meaning in mode once/],
    [['run', '--key', 'k', '--mode', 'slot', '--', 'true'], /needs --slot/],
    [['run', '--key', 'k', '--mode', 'lock', '--ttl', '1d', '--', 'true'], /--ttl has no meaning/],
    [['run', '--key', 'k', '--replay', '--', 'true'], /--capture/],
    [['run', '--key', 'k', '--capture', '64k', '--', 'true'], /tail:64k/],
    [['run', '--key', 'k', '--creates', '', '--', 'true'], /--creates/],
    [['run', '--key', 'k', '--fp-file', '*.nothing', '--', 'true'], /nothing/],
    [['run', '--key', 'k', '--busy-exit', '0', '--', 'true'], /--busy-exit/],
    [['run', '--key', 'k', '--store', 'file:', '--', 'true'], /leases only/],
    [['run', '--key', 'k', '--no-such', '--', 'true'], /--no-such/],
    [['no-such-command'], /no-such-command/],
    [['status'], /either a key/],
    [['status', 'k', '--lock', 'l'], /either a key/],
    [['resolve', 'k'], /--as/],
  ])('%j', async (args, why) => {
    const { code, stdout, stderr } = await wrappers.ask(...args);
    expect(stderr).toMatch(why);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect([code, stdout]).toEqual([64, '']);
  });

  it('a store that is not set up', async () => {
    const { code, stderr } = await wrappers.ask('run', '--store', `sqlite:${wrappers.path('none.db')}`, '--key', 'k', '--', 'echo', 'ran');
    expect(code).toBe(78);
    expect(stderr).toContain('rerunsafe set-up');
  });
});
