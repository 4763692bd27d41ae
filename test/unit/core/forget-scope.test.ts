import { describe, expect, it } from 'vitest';
import { scopeHash } from '../../../src/core/key.ts';
import type { RecordStore, Stored } from '../../../src/core/ports.ts';
import type { StoredRecord } from '../../../src/core/record.ts';
import { forgetScope, runOnce } from '../../../src/index.ts';
import { freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { type Bench, ended, fails } from './claims.ts';
import { bench, held } from './engine.ts';

const HOUR = 3_600_000;
const ANNA = 'tenant-7/anna';

async function rows(store: RecordStore): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for await (const { record } of store.list({})) found.push(record);
  return found;
}

/** What is left that says something of a person. */
const said = ({ label, outcome, fingerprint, steps, holder, note, blockedWhy }: StoredRecord): unknown =>
  JSON.stringify([label, outcome, fingerprint, steps, holder, note, blockedWhy]) === '[null,null,null,null,null,null,null]' ? undefined : label;

/** Whose runs are Anna's, unless said otherwise. */
function annas(defaults: Parameters<typeof bench>[0] = {}): Bench {
  const b = bench(defaults);
  return { ...b, run: (work, options) => b.run(work, { scope: ANNA, ...options }) };
}

/** Of Anna: done, failed for good, failed, blocked, lapsed, expired; and one of somebody else, one of nobody. */
async function stage() {
  const b = annas({ renew: 'none' });
  await b.run(() => 1, { key: 'expired', retentionMs: 2_000 });
  await b.clock.advance(3 * HOUR);
  await b.run((run) => run.step('charge', async () => ({ card: '4242' })), { key: 'done', input: { name: 'Anna' } });
  await b.run(fails, { key: 'failed' }).catch(() => {});
  await ended(b, b.run(fails, { key: 'blocked', onUnknown: 'block' }));
  await ended(b, b.run(fails, { key: 'blocked', onUnknown: 'block' }));
  void b.run(() => new Promise(() => {}), { key: 'lapsed' }).catch(() => {});
  await b.clock.settle();
  await b.clock.advance(10_000);
  await b.run(() => 'theirs', { key: 'done', scope: 'tenant-7/bert' });
  await b.run(() => 'nobodys', { key: 'done', scope: undefined });
  return b;
}

describe('forgetScope', () => {
  it('finds by what the store lists of a scope', async () => {
    const b = await stage();
    const found: unknown[] = [];
    for await (const { record } of b.store.list({ scope: scopeHash(['tenant-7/bert']) })) found.push(record.label);
    expect(found).toEqual(['done']);
  });

  it('leaves nothing that was kept for the scope, in whatever state, and all of the others', async () => {
    const b = await stage();
    const before = await rows(b.store);
    expect(before.map(({ label }) => label).sort()).toEqual(['blocked', 'done', 'done', 'done', 'expired', 'failed', 'lapsed']);
    const result = await forgetScope({ store: b.store, scope: ANNA, by: 'privacy desk', why: 'request 4711' });
    expect(result).toEqual({ forgotten: 5, running: 0, failures: [], more: false });
    const after = await rows(b.store);
    expect(after.map(said).filter((label) => label !== undefined)).toEqual(['done', 'done']);
    expect(after.filter(({ word }) => word !== undefined)).toHaveLength(5);
    expect(after.find(({ word }) => word !== undefined)).toMatchObject({ word: { did: 'forget', by: 'privacy desk', why: 'request 4711' } });
    expect(await b.run(() => 'again', { key: 'done' })).toMatchObject({ value: 'again', replayed: false });
    expect(await b.run(() => 'again', { key: 'done', scope: 'tenant-7/bert' })).toMatchObject({ value: 'theirs', replayed: true });
  });

  it('a second time costs no write', async () => {
    const b = await stage();
    await forgetScope({ store: b.store, scope: ANNA });
    const before = await rows(b.store);
    expect(await forgetScope({ store: b.store, scope: ANNA })).toEqual({ forgotten: 0, running: 0, failures: [], more: false });
    expect(await rows(b.store)).toEqual(before);
  });

  it('I4 I6 what is running is left alone and counted; with force its owner is fenced', async () => {
    for (const force of [false, true]) {
      const b = annas();
      const { work, started, end } = held<string>();
      const running = b.run(work);
      await started;
      expect(await forgetScope({ store: b.store, scope: ANNA, force })).toMatchObject(
        force ? { forgotten: 1, running: 0 } : { forgotten: 0, running: 1 },
      );
      end('Anna');
      const result = await running.then(
        () => 'kept',
        (error) => error.code,
      );
      expect(result).toBe(force ? 'LEASE_LOST' : 'kept');
      expect((await rows(b.store)).map(said)).toEqual([force ? undefined : 'k']);
      expect(await forgetScope({ store: b.store, scope: ANNA })).toMatchObject({ forgotten: force ? 0 : 1 });
      expect((await rows(b.store)).map(said)).toEqual([undefined]);
    }
  });

  it('I5 the token grows, and the tombstone outlives the lease of whoever may still own it', async () => {
    const b = await stage();
    const tokens = new Map((await rows(b.store)).map(({ owner, token }) => [owner, token]));
    const before = Math.max(...tokens.values());
    await forgetScope({ store: b.store, scope: ANNA });
    for (const { word, token, leaseMs, retentionMs } of await rows(b.store)) {
      if (word === undefined) continue;
      expect(token).toBeGreaterThanOrEqual(before);
      expect(retentionMs).toBeGreaterThan(leaseMs);
    }
  });

  it('of one operation only, where that is said', async () => {
    const b = await stage();
    await b.run(() => 1, { key: 'other', operation: 'other/op' });
    expect(await forgetScope({ store: b.store, scope: ANNA, operation: 'other/op' })).toMatchObject({ forgotten: 1 });
    expect((await rows(b.store)).map(said).filter((label) => label !== undefined)).toHaveLength(7);
  });

  it('stops at the limit, near the end of its time, and when told to; and says that there is more', async () => {
    const b = await stage();
    const of = { store: b.store, scope: ANNA };
    expect(await forgetScope({ ...of, limit: 2 })).toMatchObject({ forgotten: 2, more: true });
    expect(await forgetScope({ ...of, remainingMs: () => 999 })).toMatchObject({ forgotten: 0, more: true });
    expect(await forgetScope({ ...of, signal: AbortSignal.abort() })).toMatchObject({ forgotten: 0, more: true });
    expect(await forgetScope({ ...of, limit: 3, remainingMs: () => 1_000 })).toMatchObject({ forgotten: 3, more: false });
  });

  it('one that cannot be written keeps nobody else from being forgotten', async () => {
    const b = await stage();
    let n = 0;
    b.plan.replace = () => (n++ === 0 ? 'unavailable' : undefined);
    const { forgotten, failures } = await forgetScope({ store: b.store, scope: ANNA });
    expect([forgotten, failures.length]).toEqual([4, 1]);
    expect(failures[0]).toMatchObject({ id: expect.stringMatching(/^r1_/), error: { code: 'STORE_UNAVAILABLE' } });
  });

  it('one that changes at this very moment is forgotten as it is then', async () => {
    const b = await stage();
    const store: RecordStore = {
      ...b.store,
      async *list(query) {
        for await (const listed of b.store.list(query)) {
          if (listed.record.label === 'failed') await b.run(() => 'Anna', { key: 'failed' });
          yield listed;
        }
      },
    };
    expect(await forgetScope({ store, scope: ANNA })).toMatchObject({ forgotten: 5, failures: [] });
    expect((await rows(b.store)).map(said).filter((label) => label !== undefined)).toEqual(['done', 'done']);
  });

  it('a store that knows nothing of scopes is no danger to the others', async () => {
    const b = await stage();
    const store: RecordStore = { ...b.store, list: ({ scope: _, ...query }) => b.store.list(query) };
    expect(await forgetScope({ store, scope: ANNA })).toMatchObject({ forgotten: 5 });
    expect((await rows(b.store)).map(said).filter((label) => label !== undefined)).toEqual(['done', 'done']);
  });

  it.each([
    [{ scope: '' }, 'MISSING_SCOPE'],
    [{ scope: ['tenant-7', ''] }, 'MISSING_SCOPE'],
    [{ scope: undefined }, 'INVALID_OPTIONS'],
    [{}, 'INVALID_OPTIONS'],
    [{ scope: ANNA, limit: 0 }, 'INVALID_OPTIONS'],
    [{ scope: ANNA, key: 'k' }, 'INVALID_OPTIONS'],
    [{ scope: ANNA, store: undefined }, 'INVALID_OPTIONS'],
  ])('%j is refused, and nothing is changed', async (options, code) => {
    const b = await stage();
    const before = await rows(b.store);
    await expect(forgetScope({ store: b.store, ...options } as never)).rejects.toMatchObject({
      code,
      message: expect.stringContaining('forgetScope'),
    });
    expect(await rows(b.store)).toEqual(before);
  });

  it.each([
    { label: 'Anna' },
    { fingerprint: 'f1' },
    { outcome: { kind: 'value', value: 'Anna' } },
    { steps: { mail: { begun: 1 } } },
    { holder: 'annas laptop' },
    { note: 'Anna said no' },
    { blockedWhy: 'failed' },
    { beyond: { later: 'Anna' } },
    { state: 'blocked' },
    { state: 'running', leaseMs: 0 },
  ] as const)('each of what a record may hold is a reason to forget it, and nothing is none: %j', async (one) => {
    const b = bench();
    const scope = scopeHash([ANNA]);
    const id = freshId();
    await put(b.store, id, sample({ scope, state: 'released', ...(one as object) }));
    const empty = freshId();
    await put(b.store, empty, sample({ scope, state: 'released' }));
    const { version } = (await b.store.read(empty)) as Stored;
    expect(await forgetScope({ store: b.store, scope: ANNA })).toMatchObject({ forgotten: 1 });
    expect((await b.store.read(empty))?.version).toBe(version);
    expect((await rows(b.store)).map(said)).toEqual([undefined, undefined]);
  });

  it('sixteen at a time, and all of them', async () => {
    const b = annas();
    for (let n = 0; n < 40; n++) await b.run(() => n, { key: n });
    let [now, most] = [0, 0];
    b.plan.before = () => {
      now += 1;
      most = Math.max(most, now);
    };
    b.plan.after = () => {
      now -= 1;
    };
    expect(await forgetScope({ store: b.store, scope: ANNA })).toMatchObject({ forgotten: 40, more: false });
    expect(most).toBe(16);
  });

  it('the scope is the one that the wrappers were given: parts are parts', async () => {
    const b = bench();
    await runOnce({ store: b.store, operation: 'o', scope: ['tenant-7', 'anna'], key: 'k' }, async () => 1);
    expect(await forgetScope({ store: b.store, scope: 'tenant-7anna' })).toMatchObject({ forgotten: 0 });
    expect(await forgetScope({ store: b.store, scope: ['tenant-7', 'anna'] })).toMatchObject({ forgotten: 1 });
  });
});
