import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../child/processes.ts';
import { type Ended, Wrappers } from '../processes/wrappers.ts';

let wrappers: Wrappers;

beforeAll(() => {
  wrappers = new Wrappers();
});
afterAll(() => wrappers?.clean());

const became = ({ code, report }: Ended): unknown[] => [code, report?.became];

describe('mode lock', () => {
  it('I6 one at a time, remembering nothing: 75 while it is held, and who holds it', async () => {
    const go = wrappers.path('go');
    const holder = wrappers.start(['lock', 'backup', '--json', '--', 'sh', '-c', `echo in; while [ ! -e ${go} ]; do sleep 0.02; done`]);
    let [heard, seen] = ['', false];
    holder.process.stdout?.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    await until(() => heard.includes('in'), 'it holds the lock');
    const second = await wrappers.ask('lock', 'backup', '--json', '--', 'echo', 'no');
    expect([...became(second), second.stdout]).toEqual([75, 'busy', '']);
    expect(second.report?.message).toMatch(/@.* pid \d+ holds the lock/);
    expect((await wrappers.ask('lock', 'backup', '--busy-exit', '0', '--', 'echo', 'no')).code).toBe(64);
    expect((await wrappers.ask('lock', 'backup', '--busy-exit', '11', '--', 'echo', 'no')).code).toBe(11);
    expect(became(await wrappers.ask('lock', 'backup', '--json', '--dry-run', '--', 'true'))).toEqual([75, 'busy']);
    const waiting = wrappers.start(['lock', 'backup', '--json', '--wait', '20s', '--', 'echo', 'mine']);
    wrappers.touch(go);
    seen = (await waiting.ended).stdout === 'mine\n';
    expect(seen).toBe(true);
    expect(became(await holder.ended)).toEqual([0, 'succeeded']);
    expect(became(await wrappers.ask('run', '--mode', 'lock', '--key', 'backup', '--json', '--', 'false'))).toEqual([1, 'failed']);
  });

  it('stays taken for its minimum hold', async () => {
    expect((await wrappers.ask('lock', 'short', '--min-hold', '60s', '--', 'true')).code).toBe(0);
    expect((await wrappers.ask('lock', 'short', '--', 'true')).code).toBe(75);
    expect((await wrappers.ask('status', '--lock', 'short')).code).toBe(75);
  });

  it('I4 the command can ask whether it still holds it, and is told when it does not', async () => {
    const script =
      'rerunsafe() { node "$MAIN" "$@"; }; rerunsafe assert || exit 41; rerunsafe unlock fenced --force >&2; rerunsafe assert; echo "after $?"';
    const env = {
      MAIN: new URL('../../../dist/cli/main.js', import.meta.url).pathname,
      PATH: `${process.execPath.replace(/\/node$/, '')}:${process.env.PATH}`,
    };
    const { stdout } = await wrappers.start(['lock', 'fenced', '--on-lost-lease', 'warn', '--', 'sh', '-c', script], { env }).ended;
    expect(stdout).toMatch(/after 125\n$/);
  });
});

describe('mode slot', () => {
  const slot = (at: string, script: string, ...options: string[]): Promise<Ended> =>
    wrappers.ask('run', '--mode', 'slot', '--key', 'nightly', '--slot', '1h', '--at', at, '--json', ...options, '--', 'sh', '-c', script);

  it('I3 once for each tick: a failed one stays open, a done one is not run again, one that was passed is said to be', async () => {
    expect(became(await slot('2026-03-01T10:20:00Z', 'exit 5'))).toEqual([5, 'failed']);
    const done = await slot('2026-03-01T10:40:00Z', 'echo "$RERUNSAFE_SLOT"');
    expect([...became(done), done.stdout]).toEqual([0, 'succeeded', '2026-03-01T10:00:00.000Z\n']);
    expect(became(await slot('2026-03-01T10:59:59Z', 'exit 5'))).toEqual([0, 'already-done']);
    expect(became(await slot('2026-03-01T10:59:59Z', 'exit 5', '--done-exit', '9'))).toEqual([9, 'already-done']);
    expect(became(await slot('2026-03-01T11:00:00Z', 'true', '--dry-run'))).toEqual([0, 'would-run']);
    expect(became(await slot('2026-03-01T11:00:00Z', 'true'))).toEqual([0, 'succeeded']);
    expect(became(await slot('2026-03-01T10:00:00Z', 'exit 5'))).toEqual([76, 'slot-passed']);
    expect(became(await slot('2026-03-01T09:00:00Z', 'exit 5', '--on-passed', 'run'))).toEqual([5, 'failed']);
  });

  it('the same key in every try of a slot, another one for each slot', async () => {
    const keyAt = async (at: string): Promise<string> => (await slot(at, 'echo "$IDEMPOTENCY_KEY"; exit 1')).stdout;
    const [first, second, later] = [await keyAt('2026-04-01T10:00:00Z'), await keyAt('2026-04-01T10:30:00Z'), await keyAt('2026-04-01T11:00:00Z')];
    expect(first).toMatch(/^[\w-]{43}\n$/);
    expect(second).toBe(first);
    expect(later).not.toBe(first);
  });
});

describe('describe', () => {
  it('I8 says what a guard does when, without touching anything', async () => {
    const { code, stdout } = await wrappers.ask('describe', '--key', 'deploy-{git.sha}', '--on-failure', 'block', '--', './deploy.sh');
    expect(code).toBe(0);
    expect(stdout).toContain('**It failed (an exit code other than 0). And now?** It is blocked (exit code 76)');
    expect(stdout).toContain('**How long is it remembered that it is done?** For ever.');
    const json = await wrappers.ask('describe', '--json', '--mode', 'slot', '--slot', '0 2 * * *', '--key', 'nightly', '--', './report.sh');
    expect(JSON.parse(json.stdout)).toMatchObject({ mode: 'slot', guard: 'nightly', answers: expect.any(Array) });
  });
});
