import { describe, expect, it } from 'vitest';
import { assertHeld } from '../../../src/cli/commands/assert.ts';
import { forget } from '../../../src/cli/commands/forget.ts';
import { unlock } from '../../../src/cli/commands/unlock.ts';
import { childEnv } from '../../../src/cli/run/child-env.ts';
import { storeUnavailable } from '../../../src/core/errors.ts';
import { tryAcquire } from '../../../src/core/lease.ts';
import type { Run } from '../../../src/core/run.ts';
import { commandStage, placeOf, printed, run, runs } from './stage.ts';

describe('assert', () => {
  const stage = commandStage();
  const URL = 'sqlite:/var/lib/records.db';
  const envOf = (fence: Run['fence'], kind: 'run' | 'lease' = 'run') => childEnv({ key: 'k', attempt: 1, fence, kind, store: URL });
  const ask = async (env: Readonly<Record<string, string | undefined>>, minMs?: number) => {
    const json = printed({ json: true });
    let closed = 0;
    const open = async (url: string) => {
      expect(url).toBe(URL);
      return { ...stage.place, close: async () => void closed++ };
    };
    const exitCode = await assertHeld({ env, open, minMs, out: json.out });
    expect(closed).toBe(1);
    return { exitCode, ...json.json()[0] };
  };
  /** The environment of a command that runs under that key, and what lets it end. */
  const inside = async (key: string) => {
    let env: Record<string, string> = {};
    const ended = new Promise<{ finish: () => void; done: Promise<unknown> }>((began) => {
      let finish = (): void => {};
      const done: Promise<unknown> = runs(stage.store, key, (its) => {
        env = envOf(its.fence);
        return new Promise<number>((resolve) => {
          finish = () => resolve(1);
          setImmediate(() => began({ finish, done }));
        });
      }).catch((error: unknown) => error);
    });
    return { ...(await ended), env };
  };

  it('I4 a run: 0 while it holds, 125 and why once it is taken over, ended, over in time, forgotten or gone', async () => {
    const first = await inside('one');
    expect(await ask(first.env)).toMatchObject({ exitCode: 0, held: true, remainingMs: expect.any(Number) });
    expect(await ask(first.env, 50_000)).toMatchObject({ exitCode: 0 });
    stage.pass(20_000);
    expect(await ask(first.env, 50_000)).toMatchObject({ exitCode: 125, held: false, why: 'short' });
    expect(await ask(first.env)).toMatchObject({ exitCode: 0, held: true });
    stage.pass(40_001);
    expect(await ask(first.env)).toMatchObject({ exitCode: 125, held: false, why: 'lapsed' });
    const second = await inside('one');
    expect(await ask(first.env)).toMatchObject({ exitCode: 125, why: 'taken' });
    expect(await ask(second.env)).toMatchObject({ exitCode: 0 });
    second.finish();
    await second.done;
    expect(await ask(second.env)).toMatchObject({ exitCode: 125, why: 'ended' });
    const third = await inside('two');
    await forget({ place: stage.place, what: run('two'), force: true, out: printed().out });
    expect(await ask(third.env)).toMatchObject({ exitCode: 125, why: 'taken' });
    const gone = JSON.stringify({ kind: 'run', id: `r1_${'x'.repeat(43)}`, owner: 'o', token: 1 });
    expect(await ask({ RERUNSAFE_STORE: URL, RERUNSAFE_FENCE: gone })).toMatchObject({ exitCode: 125, why: 'gone' });
  });

  it('I4 a lock: 0 while it is held, 125 once it is broken, released (also in its minimum hold) or over', async () => {
    const hold = async (name: string, minHoldMs = 0) => {
      const got = await tryAcquire(stage.place.leases, name, { leaseMs: 60_000, minHoldMs, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      return { lease: got.lease, env: envOf(got.lease.fence, 'lease') };
    };
    const broken = await hold('broken');
    expect(await ask(broken.env, 30_000)).toMatchObject({ exitCode: 0, held: true });
    await unlock({ place: stage.place, name: 'broken', force: true, out: printed().out });
    expect(await ask(broken.env)).toMatchObject({ exitCode: 125, why: 'taken' });
    const released = await hold('released', 50_000);
    await released.lease.release();
    expect(await ask(released.env)).toMatchObject({ exitCode: 125, why: 'ended' });
    const over = await hold('over');
    stage.pass(60_001);
    expect(await ask(over.env)).toMatchObject({ exitCode: 125, held: false });
  });

  it('is refused outside of a guarded run: nothing set, no fence (an unguarded run), a fence that is none', async () => {
    const open = async () => stage.place;
    const { out } = printed();
    const fences = ['', '{', 'null', '7', '{"id":"a"}', '{"id":"a","owner":"b","token":"7"}', '{"id":"","owner":"b","token":7}'];
    for (const env of [{}, envOf(undefined), ...fences.map((RERUNSAFE_FENCE) => ({ RERUNSAFE_STORE: URL, RERUNSAFE_FENCE }))]) {
      await expect(assertHeld({ env, open, out })).rejects.toMatchObject({ exitCode: 64 });
    }
  });

  it('I8 says that it is a check and no fence; a store that does not answer is not taken for a loss', async () => {
    const { env, finish } = await inside('words');
    const [words, piped] = [printed({ columns: 200 }), printed()];
    expect(await assertHeld({ env, open: async () => stage.place, out: words.out })).toBe(0);
    // Where no person looks, that all is well needs no word.
    expect(await assertHeld({ env, open: async () => stage.place, out: piped.out })).toBe(0);
    expect(piped.text()).toBe('');
    expect(words.text()).toMatch(/^held for another 59\.\d+s without renewal \(token \d+\)\. This is a check, not a fence: .*docs\/leases\.md\)\n$/);
    const down = placeOf({
      ...stage.store,
      read: async () => {
        throw storeUnavailable('read', new Error('ECONNREFUSED'));
      },
    });
    await expect(assertHeld({ env, open: async () => down, out: words.out })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    finish();
  });
});
