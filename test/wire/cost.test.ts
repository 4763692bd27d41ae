import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { type Run, type RunOnceOptions, storeLeases, tryAcquire, tryRunOnce } from '../../src/index.ts';
import { type StoreSubject, subjects, type Wire } from '../support/stores.ts';

/** What each case costs in requests. `read`: what a refused write costs on top where it does not bring the record that stands there. */
const CASES = [
  'first run',
  'replay',
  'in flight',
  'key reused',
  'again after a release',
  'takeover',
  'a step',
  'a renewal',
  'a lease: acquire',
  'a lease: renew',
  'a lease: release',
] as const;
type CaseName = (typeof CASES)[number];

const expected = (read: 0 | 1): Readonly<Record<CaseName, number>> => ({
  'first run': 2,
  replay: 1 + read,
  'in flight': 1 + read,
  'key reused': 1 + read,
  'again after a release': 3 + read,
  takeover: 3 + read,
  'a step': 1,
  'a renewal': 1,
  'a lease: acquire': 2,
  'a lease: renew': 1,
  'a lease: release': 1,
});

const table: Record<string, Record<string, number>> = {};
const kinds = (await subjects()).filter(({ remote }) => remote);

afterAll(() => {
  const rows = CASES.map((name) => [name, ...kinds.map((kind) => table[kind.name]?.[name] ?? '?')]);
  const lines = [['requests', ...kinds.map((kind) => kind.name)], ...rows].map((row) => `  ${row.map((cell) => String(cell).padEnd(22)).join('')}`);
  process.stdout.write(`\nI11 what each case costs, counted on the wire:\n${lines.join('\n')}\n`);
});

describe.each(kinds)('the cost on $name', ({ name, start, returnsStanding }) => {
  let subject: StoreSubject;
  let wire: Wire;
  let store: RecordStore & { close(): Promise<void> };
  beforeAll(async () => {
    subject = await start();
    if (subject.wire === undefined) throw new Error('this store is not reached over a wire');
    wire = subject.wire;
    store = wire.open('a client of our own');
    await store.read(randomUUID());
  });
  afterAll(async () => {
    await store?.close();
    await subject?.stop();
  });

  async function costs(what: CaseName, body: () => Promise<unknown>): Promise<void> {
    wire.proxy.clear();
    await body();
    const counted = wire.proxy.count();
    table[name] = { ...table[name], [what]: counted };
    expect(counted, what).toBe(expected(returnsStanding ? 0 : 1)[what]);
  }

  const options = (more: Partial<RunOnceOptions<unknown>> = {}): RunOnceOptions<unknown> => ({
    store,
    operation: 'test/cost',
    key: randomUUID(),
    leaseMs: 30_000,
    ...more,
  });

  it('I11 a first run costs 2 requests, a replay what a refused write costs, and another input the same', async () => {
    const same = options({ input: 1 });
    await costs('first run', () => tryRunOnce(same, () => ({ receipt: 'x'.repeat(2_000) })));
    await costs('replay', async () => expect(await tryRunOnce(same, () => 'again')).toMatchObject({ replayed: true }));
    await costs('key reused', async () => expect(await tryRunOnce({ ...same, input: 2 }, () => 'other')).toEqual({ kind: 'key-reused' }));
  });

  it('I11 a duplicate in flight costs what a refused write costs', async () => {
    const same = options();
    await tryRunOnce(same, () => costs('in flight', async () => expect(await tryRunOnce(same, () => 'no')).toMatchObject({ kind: 'in-flight' })));
  });

  it('I11 a run over a released record and a takeover cost one write more than a first run', async () => {
    const released = options();
    await tryRunOnce(released, () => Promise.reject(new Error('no'))).catch(() => {});
    await costs('again after a release', async () => expect(await tryRunOnce(released, () => 'yes')).toMatchObject({ attempt: 2 }));
    const lapsed = options();
    await tryRunOnce({ ...lapsed, onThrow: () => 'unknown' }, () => Promise.reject(new Error('no'))).catch(() => {});
    await costs('takeover', async () => expect(await tryRunOnce(lapsed, () => 'yes')).toMatchObject({ attempt: 2 }));
  });

  it('I11 a step and a renewal cost one request each', async () => {
    await tryRunOnce(options(), (run) => costs('a step', () => run.step('one', () => 1)));
    const renewing = async (run: Run): Promise<void> => {
      const before = run.remainingMs();
      await costs('a renewal', () => new Promise((resolve) => setTimeout(resolve, 3_000)));
      expect(run.remainingMs()).toBeGreaterThan(before - 2_000);
    };
    // Renewed once in that time: a third of the lease has passed, two thirds have not.
    expect(await tryRunOnce(options({ leaseMs: 6_000 }), renewing)).toMatchObject({ kind: 'completed', saved: true });
  });

  it('I11 a named lease costs two requests to acquire, one to renew and one to release', async () => {
    const got: Awaited<ReturnType<typeof tryAcquire>>[] = [];
    await costs(
      'a lease: acquire',
      async () => void got.push(await tryAcquire(storeLeases(store), randomUUID(), { leaseMs: 30_000, renew: 'none' })),
    );
    const [one] = got;
    if (one?.kind !== 'acquired') throw new Error('not acquired');
    await costs('a lease: renew', () => one.lease.renew());
    await costs('a lease: release', async () => expect(await one.lease.release()).toBe('released'));
  });
});
