import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { forget } from '../../../src/cli/commands/forget.ts';
import { resolve } from '../../../src/cli/commands/resolve.ts';
import { status } from '../../../src/cli/commands/status.ts';
import { UsageError } from '../../../src/cli/usage-error.ts';
import { PermanentError } from '../../../src/core/errors.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import { aesSeal } from '../../../src/core/seal.ts';
import { begin, commandStage, end, idOf, placeOf, printed, run, runs, succeed } from './stage.ts';

describe("a person's word", () => {
  const stage = commandStage();
  const say = async (key: string, as: 'done' | 'not-done', more: { force?: boolean; value?: string; by?: string; why?: string } = {}) => {
    const json = printed({ json: true });
    const exitCode = await resolve({ place: stage.place, what: run(key), as, out: json.out, ...more });
    return { exitCode, result: json.json()[0]?.result, warning: json.json()[0]?.warning };
  };
  const stateOf = async (key: string): Promise<unknown> => {
    const json = printed({ json: true });
    await status({ place: stage.place, what: run(key), out: json.out });
    return json.json()[0]?.state;
  };
  const failForGood = (store: RecordStore, key: string) =>
    runs(store, key, async () => {
      throw new PermanentError('no', { data: 'x'.repeat(100_000) });
    });

  /** What stands, what is said, the exit code, the result, and what stands then. */
  const CASES: readonly (readonly [
    what: string,
    bring: (store: RecordStore, key: string) => Promise<unknown>,
    as: 'done' | 'not-done',
    exitCode: number,
    result: string,
    then: string,
  ])[] = [
    ['nothing', async () => {}, 'done', 3, 'absent', 'none'],
    ['an unknown outcome', (s, k) => end(s, k, 'unknown'), 'done', 0, 'written', 'done'],
    ['an unknown outcome', (s, k) => end(s, k, 'unknown'), 'not-done', 0, 'written', 'not-done'],
    ['what is blocked', (s, k) => end(s, k, 'block'), 'done', 0, 'written', 'done'],
    ['what is blocked', (s, k) => end(s, k, 'block'), 'not-done', 0, 'written', 'not-done'],
    ['what is done', succeed, 'done', 0, 'not-needed', 'done'],
    ['what is done', succeed, 'not-done', 1, 'not-needed', 'done'],
    ['what failed', (s, k) => end(s, k, 'release'), 'done', 1, 'not-needed', 'failed'],
    ['what failed', (s, k) => end(s, k, 'release'), 'not-done', 0, 'not-needed', 'failed'],
    ['what failed for good', failForGood, 'done', 1, 'not-needed', 'failed'],
    ['what failed for good', failForGood, 'not-done', 1, 'not-needed', 'failed'],
    ['what is running', begin, 'done', 75, 'running', 'running'],
  ];
  for (const [n, [what, bring, as, exitCode, result, then]] of CASES.entries()) {
    it(`I8 resolve --as ${as} of ${what}: exits with ${exitCode}, ${result}`, async () => {
      const key = `word ${n}`;
      await bring(stage.store, key);
      expect(await say(key, as)).toMatchObject({ exitCode, result });
      expect(await stateOf(key)).toBe(then);
    });
  }

  it('I4 with force what is running is resolved, and its late end changes nothing; what a person said is corrected', async () => {
    const running = await begin(stage.store, 'forced');
    expect(await say('forced', 'done', { force: true, value: '"by hand"' })).toMatchObject({ exitCode: 0, result: 'written' });
    expect(await running.finish()).toMatchObject({ kind: 'completed', value: 'by hand' });
    expect(await say('forced', 'not-done')).toMatchObject({ exitCode: 1, result: 'not-needed' });
    expect(await say('forced', 'not-done', { force: true })).toMatchObject({ exitCode: 0, result: 'written' });
    expect(await stateOf('forced')).toBe('not-done');
  });

  it('keeps who and why, and as the value what a command leaves, or what was given', async () => {
    await end(stage.store, 'kept', 'unknown');
    await say('kept', 'done', { why: 'seen in the log' });
    const { record } = (await stage.store.read(idOf('kept'))) as NonNullable<Awaited<ReturnType<RecordStore['read']>>>;
    const by = `${userInfo().username}@${hostname()}`;
    expect(record.word).toMatchObject({ did: 'resolve', by, why: 'seen in the log' });
    expect(await succeed(stage.store, 'kept')).toMatchObject({ value: { exitCode: 0, resolvedBy: by }, replayed: true, resolved: true });
    await end(stage.store, 'given', 'unknown');
    await say('given', 'done', { value: '{"receipt":7}' });
    expect(await succeed(stage.store, 'given')).toMatchObject({ value: { receipt: 7 }, replayed: true });
  });

  it("warns where an application's run gets what a command leaves, and not where it is a command's", async () => {
    const unknown = (operation: string, holder: string) =>
      stage.store.create(idOf('warned', operation), {
        schema: 1,
        operation,
        scope: '',
        label: 'warned',
        state: 'blocked',
        owner: 'o',
        revision: 'r',
        token: 1,
        attempt: 1,
        leaseMs: 1,
        retentionMs: 9,
        createdAtMs: 1,
        holder,
      });
    const warning = async (operation: string): Promise<unknown> => {
      const json = printed({ json: true });
      expect(await resolve({ place: stage.place, what: run('warned', operation), as: 'done', out: json.out })).toBe(0);
      return json.json()[0]?.warning;
    };
    await unknown('billing/charge', 'process 12');
    expect(await warning('billing/charge')).toMatch(/--value JSON --force/);
    await unknown('deploys', 'ann@build-7 pid 12');
    expect(await warning('deploys')).toBeUndefined();
  });

  /** Between the look and the word. */
  const overtaken = (by: () => Promise<unknown>) => {
    let looks = 0;
    const read: RecordStore['read'] = async (...given) => {
      const seen = await stage.store.read(...given);
      looks += 1;
      if (looks === 1) await by();
      return seen;
    };
    return placeOf({ ...stage.store, read });
  };

  it('I3 a word about what another attempt has changed since the look changes nothing: 75', async () => {
    for (const [n, word] of [resolve, forget].entries()) {
      const key = `changed ${n}`;
      await end(stage.store, key, 'unknown');
      const json = printed({ json: true });
      const place = overtaken(() => end(stage.store, key, 'unknown'));
      expect(await word({ place, what: run(key), as: 'not-done', out: json.out })).toBe(75);
      expect(json.json()[0]).toMatchObject({ result: 'changed' });
      expect((await stage.store.read(idOf(key)))?.record).toMatchObject({ attempt: 2, state: 'running' });
    }
  });

  it('I3 what got done between the look and the word is told as done, not as what it was', async () => {
    await end(stage.store, 'late', 'unknown');
    const json = printed({ json: true });
    const place = overtaken(() => succeed(stage.store, 'late'));
    expect(await resolve({ place, what: run('late'), as: 'not-done', out: json.out })).toBe(1);
    expect(json.json()[0]).toMatchObject({ result: 'not-needed', message: expect.stringContaining('it is done already') });
    expect(await stateOf('late')).toBe('done');
  });

  it('I4 forget: what is done runs again; what is running only with force, and is then told of; 3 where there is nothing', async () => {
    const tell = async (key: string, force = false): Promise<readonly [number, unknown, unknown]> => {
      const json = printed({ json: true });
      const exitCode = await forget({ place: stage.place, what: { kind: 'id', id: idOf(key) }, force, out: json.out });
      return [exitCode, json.json()[0]?.result, json.json()[0]?.warning];
    };
    expect(await tell('never')).toEqual([3, 'absent', undefined]);
    await succeed(stage.store, 'again');
    expect(await tell('again')).toEqual([0, 'forgotten', undefined]);
    expect(await succeed(stage.store, 'again')).toMatchObject({ replayed: false });
    const running = await begin(stage.store, 'busy');
    expect(await tell('busy')).toEqual([75, 'running', undefined]);
    expect(await tell('busy', true)).toEqual([0, 'forgotten', expect.stringContaining('until then it goes on')]);
    await running.finish();
    expect(await stateOf('busy')).toBe('forgotten');
  });

  it('refuses what cannot be kept, before anything is written: words too long, a value that is no JSON, what is sealed', async () => {
    const seal = aesSeal({ keys: { a: Buffer.alloc(32).toString('base64') }, current: 'a' });
    await runs(
      stage.store,
      'sealed',
      async (run) => {
        await run.step('one', async () => 1);
        throw new Error('lost');
      },
      { seal, onThrow: () => 'unknown' },
    ).catch(() => {});
    await end(stage.store, 'refused', 'unknown');
    await expect(say('refused', 'done', { by: 'x'.repeat(201) })).rejects.toThrow(UsageError);
    await expect(say('refused', 'done', { why: 'two\nlines' })).rejects.toThrow(UsageError);
    await expect(say('refused', 'done', { value: '{' })).rejects.toThrow(/--value is no JSON/);
    await expect(say('refused', 'not-done', { value: '1' })).rejects.toThrow(UsageError);
    await expect(say('sealed', 'done')).rejects.toThrow(UsageError);
    expect([await stateOf('refused'), await stateOf('sealed')]).toEqual(['lapsed', 'lapsed']);
  });
});
