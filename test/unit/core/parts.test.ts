import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { inParts } from '../../../src/core/parts.ts';
import type { Outcome } from '../../../src/core/record.ts';
import { aesSeal, type CommitRequest, forgetRun, PermanentError, type RecordStore, type Run, resolveRun } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { bench, eventsOf, inTime, LOST_ANSWERS } from './engine.ts';

/** Records of 4,000 bytes at most, of which an outcome may take 2,000; parts of 4,000 bytes, 16 of them. */
const large = (defaults: Parameters<typeof bench>[0] = {}) => bench(defaults, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
type Bench = ReturnType<typeof bench>;

const ID = recordId('test/op', [], ['k']);
const kept = async (b: Bench): Promise<Outcome | undefined> => (await b.store.read(ID))?.record.outcome;

describe('large outcomes lie in parts beside the record', () => {
  it('I2 I11 the value comes back whole: two writes and the parts, one request and the parts', async () => {
    const b = large();
    const value = incompressible(10_000);
    expect(await b.run(() => value)).toMatchObject({ value, replayed: false, saved: true });
    expect(b.store.counts).toMatchObject({ create: 1, replace: 1, read: 0, putPart: 3, readPart: 0 });
    expect(await kept(b)).toMatchObject({ kind: 'parts', of: 'value', count: 3 });
    const before = { ...b.store.counts };
    expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true, attempt: 1 });
    expect(b.store.counts).toEqual({ ...before, create: before.create + 1, readPart: 3 });
  });

  it('what is small, or small when compressed, stays in the record', async () => {
    const b = large();
    await b.run(() => 'small');
    expect(await kept(b)).toMatchObject({ kind: 'value' });
    await b.run(() => 'x'.repeat(50_000), { key: 'compressed' });
    expect(b.store.counts.putPart).toBe(0);
    expect(await b.run(() => 'again', { key: 'compressed' })).toMatchObject({ value: 'x'.repeat(50_000) });
  });

  it('what is compressed is kept as bytes, a quarter less than their text', async () => {
    const b = large();
    const value = Array.from({ length: 600 }, () => `order ${randomBytes(4).toString('hex')}`);
    await b.run(() => value);
    const outcome = await kept(b);
    expect(outcome).toMatchObject({ kind: 'parts', of: 'packed' });
    expect((outcome as { bytes: number }).bytes).toBeLessThan(JSON.stringify(value).length * 0.6);
    expect(await b.run(() => [])).toMatchObject({ value, replayed: true });
  });

  it('a seal, a remembered error and a person’s word go the same way', async () => {
    const seal = aesSeal({ keys: { a: randomBytes(32).toString('base64') }, current: 'a' });
    const b = large();
    const secret = { card: incompressible(6_000) };
    await b.run(() => secret, { seal });
    expect(await kept(b)).toMatchObject({ kind: 'parts', of: 'sealed' });
    expect(await b.run(() => secret, { seal })).toMatchObject({ value: secret, replayed: true });

    const data = { rows: incompressible(5_000) };
    const failed = () => {
      throw new PermanentError('declined', { data });
    };
    expect(await b.run(failed, { key: 'error' })).toMatchObject({ kind: 'failed' });
    expect(await b.run(failed, { key: 'error' })).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', data } });

    await b.run(() => Promise.reject(new Error('who knows')), { key: 'blocked', onUnknown: 'block' }).catch(() => {});
    const of = { store: b.store, operation: 'test/op', key: 'blocked' };
    expect(await resolveRun(of, { done: data })).toEqual({ kind: 'written' });
    expect(await b.run(() => 'again', { key: 'blocked' })).toMatchObject({ value: data, replayed: true, resolved: true });
  });

  it('what is too large for parts too is not kept: the first caller is served, later ones are told, the work is not run again', async () => {
    const b = large();
    const value = incompressible(70_000);
    expect(await b.run(() => value)).toMatchObject({ value, saved: true });
    expect(b.store.counts.putPart).toBe(0);
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'too-large' } });
  });

  it('localReplay keeps the whole: a replay costs no request at all', async () => {
    const b = large({ localReplay: { maxEntries: 5 }, retentionMs: 3_600_000 });
    const value = incompressible(6_000);
    await b.run(() => value);
    const calls = b.store.calls.length;
    expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true });
    expect(b.store.calls.length).toBe(calls);
  });
});

describe('parts and failures', () => {
  it.each([...LOST_ANSWERS, 'unavailable' as const])(
    'I1 I3 a part meets %j: written again within the lease, and the value is kept',
    async (fault) => {
      const b = large({ leaseMs: 10_000 });
      b.plan.putPart = { 1: fault };
      const value = incompressible(6_000);
      expect(
        await inTime(
          b.clock,
          b.run(() => value),
        ),
      ).toMatchObject({ value, saved: true });
      expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true });
    },
  );

  it('I3 no part gets through within the lease: the caller is served, later ones are told, and the work is not run again', async () => {
    const b = large();
    b.plan.putPart = () => 'unavailable';
    const value = incompressible(6_000);
    const first = await inTime(
      b.clock,
      b.run(() => value),
    );
    expect(first).toMatchObject({ value, saved: true });
    expect(await kept(b)).toEqual({ kind: 'not-stored', reason: 'not-taken' });
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'not-taken' } });
  });

  it('I1 neither parts nor record get through until the lease ends: saved false, and the record lapses', async () => {
    const b = large({ renew: 'none' });
    b.plan.putPart = () => 'unavailable';
    b.plan.replace = () => 'unavailable';
    const value = incompressible(6_000);
    const first = b.run(() => value);
    const events = await eventsOf(() => inTime(b.clock, first));
    expect(await first).toMatchObject({ value, saved: false });
    expect(events).toContain('save-failed');
    expect(await b.store.read(ID)).toMatchObject({ record: { state: 'running', attempt: 1 } });
    b.plan.replace = () => undefined;
    await b.clock.advance(2_000);
    expect(await b.run(() => 'small')).toMatchObject({ value: 'small', attempt: 2 });
  });

  it('I6 many slow parts do not cost the lease: it is renewed while they are put', async () => {
    const b = bench({ leaseMs: 1_000 }, { inlineBytes: 1_000, maxRecordBytes: 4_000 });
    b.plan.before = async (operation) => {
      if (operation === 'putPart') await new Promise<void>((resolve) => b.clock.timers.after(450, resolve));
    };
    const value = incompressible(60_000);
    const first = b.run(() => value);
    first.catch(() => {});
    for (let n = 0; n < 15; n++) {
      await b.clock.advance(100);
      expect(await b.run(() => 'two')).toMatchObject({ kind: 'in-flight' });
    }
    expect(await inTime(b.clock, first)).toMatchObject({ value, saved: true });
    expect(await b.run(() => 'again')).toMatchObject({ value, attempt: 1 });
  });

  it('a record that vanished may have taken its parts along: both are written again', async () => {
    const b = large();
    const value = incompressible(6_000);
    b.plan.before = async (operation, n) => {
      if (operation !== 'replace' || n > 1) return;
      const standing = await b.store.read(ID);
      if (standing !== undefined) await b.store.delete(ID, standing.version);
    };
    const first = b.run(() => value);
    const events = await eventsOf(() => inTime(b.clock, first));
    expect(await first).toMatchObject({ value, saved: true });
    expect(events).toContain('record-vanished');
    const order = b.store.calls.map(({ operation }) => operation).filter((operation) => operation === 'putPart' || operation === 'create');
    expect(order).toEqual(['create', 'putPart', 'putPart', 'putPart', 'putPart', 'create']);
    expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true });
  });

  it('I2 a reader whose parts go while it reads looks at the record once more', async () => {
    const b = large();
    await b.run(() => incompressible(6_000));
    let isForgotten = false;
    const readPart: RecordStore['readPart'] = async (id, name, options) => {
      if (isForgotten) return b.store.readPart?.(id, name, options);
      isForgotten = true;
      await forgetRun({ store: b.store, operation: 'test/op', key: 'k' });
      return undefined;
    };
    expect(await b.run(() => 'new', { store: { ...b.store, readPart } } as never)).toMatchObject({ value: 'new', replayed: false });
  });

  it("I3 onStoreDown: 'run' is about the claim alone: where only the parts of an outcome cannot be read, the work is not run again", async () => {
    const b = large({ onStoreDown: 'run' });
    const value = incompressible(6_000);
    await b.run(() => value);
    let runs = 0;
    const work = () => {
      runs += 1;
      return 'again';
    };
    b.plan.readPart = () => 'unavailable';
    await expect(b.run(work)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const gone = { ...b.store, readPart: async () => undefined } as RecordStore;
    await expect(b.run(work, { store: gone } as never)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    // The first look finds its parts gone, and the second one no store.
    b.plan.readPart = {};
    b.plan.create = { [b.store.counts.create + 2]: 'unavailable' };
    await expect(b.run(work, { store: gone } as never)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(runs).toBe(0);
    expect(await b.run(work)).toMatchObject({ value, replayed: true });
  });

  it('I3 late in a long lease a part still has the time that it takes', async () => {
    const b = large({ leaseMs: 100_000, renew: 'none' });
    b.plan.before = async (operation, n) => {
      if (operation === 'putPart' && n <= 2) await new Promise<void>((resolve) => b.clock.timers.after(800, resolve));
    };
    const value = incompressible(6_000);
    const work = async () => {
      await new Promise<void>((resolve) => b.clock.timers.after(90_000, resolve));
      return value;
    };
    expect(await inTime(b.clock, b.run(work))).toMatchObject({ value, saved: true });
    expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true });
  });

  it('I4 a stale owner’s parts are never read: its caller gets what the other has completed', async () => {
    const b = large({ renew: 'none' });
    const [one, two] = [incompressible(6_000), incompressible(6_000)];
    let resume = (): void => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const first = b.run(async () => {
      await resumed;
      return one;
    });
    first.catch(() => {});
    await b.clock.advance(1_001);
    expect(await b.run(() => two)).toMatchObject({ value: two, attempt: 2 });
    resume();
    expect(await inTime(b.clock, first)).toMatchObject({ value: two, replayed: true });
    expect(await b.run(() => 'three')).toMatchObject({ value: two });
  });

  it('a part that is missing, or was changed, is said; the work is not run again, and a store that does not answer is tried again', async () => {
    const b = large();
    const value = incompressible(6_000);
    await b.run(() => value);
    const outcome = (await kept(b)) as { owner: string; hash: string };
    b.plan.readPart = { 1: 'unavailable' };
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(await b.run(() => 'again')).toMatchObject({ value });
    await b.store.putPart?.(ID, `${outcome.owner}.${outcome.hash}.1`, Buffer.from('changed'), { keepMs: 1 });
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', retryable: false });
    const without = { ...b.store, readPart: async () => undefined } as RecordStore;
    await expect(b.run(() => 'again', { store: without } as never)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
  });

  it('a commit names its parts; where they cannot be put it has not happened, and the run goes on', async () => {
    const b = large({ leaseMs: 2_000 });
    const value = incompressible(6_000);
    const send = async ({ id, record, version }: CommitRequest) =>
      version === undefined ? b.store.create(id, record) : b.store.replace(id, record, version);
    b.plan.putPart = { 1: 'lost-answer' };
    const result = await inTime(
      b.clock,
      b.run(async (run: Run<string>) => {
        await run.commit(value, send);
        return 'ignored';
      }),
    );
    expect(result).toMatchObject({ value, saved: true });
    expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true });

    let failed: unknown;
    b.plan.putPart = () => 'lost-answer';
    const second = b.run(
      async (run: Run<string>) => {
        await run.commit(value, send).catch((error) => {
          failed = error;
        });
        return 'small';
      },
      { key: 'second' },
    );
    expect(await inTime(b.clock, second)).toMatchObject({ value: 'small' });
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('inParts', () => {
  const limits = { maxRecordBytes: 4_000, inlineBytes: 100, maxKeyBytes: 100, parts: { bytesEach: 1_000, most: 3 } };
  const outcome = (length: number) => ({ kind: 'value', value: { json: 'x'.repeat(length) } }) as const;

  it('names no two contents alike, and the same content always the same', () => {
    const names = (length: number, owner: string) => inParts(outcome(length), owner, limits)?.parts.map(({ name }) => name);
    expect(names(1_500, 'a')).toEqual(names(1_500, 'a'));
    expect(new Set([...(names(1_500, 'a') ?? []), ...(names(1_501, 'a') ?? []), ...(names(1_500, 'b') ?? [])]).size).toBe(6);
    for (const name of names(1_500, 'a') ?? []) expect(name).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  });

  it('leaves alone what fits, what fits nowhere, and a store without parts', () => {
    expect(inParts(outcome(10), 'a', limits)).toBeUndefined();
    expect(inParts(outcome(3_100), 'a', limits)).toBeUndefined();
    const { parts: _, ...without } = limits;
    expect(inParts(outcome(1_500), 'a', without)).toBeUndefined();
    expect(inParts({ kind: 'not-stored', reason: 'too-large' }, 'a', limits)).toBeUndefined();
  });
});
