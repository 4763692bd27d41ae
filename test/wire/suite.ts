import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { WriteResult } from '../../src/core/ports.ts';
import { type RunOnceOptions, storeLeases, tryAcquire, tryRunOnce } from '../../src/index.ts';
import { refusedAndNotLookedUp } from '../history/found.ts';
import { CLIENTS, deliveryOf, expectRight, KEYS, trafficOverWire } from '../history/traffic.ts';
import { byLength } from '../support/long.ts';
import { LONG_MS, OPERATION, runningRecord, until } from '../support/promises-case.ts';
import { type StoreSubject, type SubjectKind, WIRE_CLIENTS, type Wire } from '../support/stores.ts';
import { type Cell, type CellKind, type CellTest, seen, throughAllFaults } from './cell.ts';

/** 20 ms apart. */
const SAME_LOOKS = 20;

/** Every operation, and every run built on it, through every fault, over both kinds of client. */
export function wireSuite(kind: SubjectKind): void {
  const { name, start, wireClients = WIRE_CLIENTS } = kind;
  vi.setConfig({ maxConcurrency: 6 });
  describe.each(wireClients)(`${name}, over %s`, (client) => {
    let subject: StoreSubject;
    beforeAll(async () => {
      subject = await start();
    });
    afterAll(() => subject?.stop());

    const wireOf = ({ wire }: StoreSubject): Wire => {
      if (wire === undefined) throw new Error('this store is not reached over a wire');
      return wire;
    };
    const through = (test: CellTest, of: CellKind): Promise<void> =>
      throughAllFaults({ wire: wireOf(subject), client, direct: subject.store, kind, of }, test);

    it.concurrent.each(Object.entries(OPERATIONS))('I7 I8 %s', (_, test) => through(test, 'requests'));
    it.concurrent.each(Object.entries(RUNS))('I1 I3 I4 I5 I6 I7 %s', (_, test) => through(test, 'runs'));
    it.concurrent.each(Object.entries(LEASES))('I4 I5 I6 I7 %s', (_, test) => through(test, 'leases'));

    const { sent } = deliveryOf(kind, client);
    // By itself: some emulators run in this process, and every other cell would wait for the search.
    it(
      `I1 I4 I7 I8 one order of all writes explains what ${CLIENTS} clients of ${KEYS} rows are answered, each request sent ${sent}`,
      async () => {
        const judged = await trafficOverWire(wireOf(subject), client, deliveryOf(kind, client));
        // A client that tries again may come through all of them with an answer.
        expectRight(`${name}, over ${client}, sent ${sent}`, judged, `vitest run test/wire -t '${name}, over ${client} '`, sent === 'once');
      },
      byLength(60_000, 60_000, 1_200_000),
    );

    // A client that was passed in stays its owner's to close.
    if (client !== 'a client of our own') return;
    if (!kind.returnsStanding)
      it('I8 a write that took effect, whose second copy was refused by a row that cannot be read, is in doubt', () =>
        refusedAndNotLookedUp(subject));
    it('I12 a store that is closed leaves no socket behind', async () => {
      const sockets = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
      // Those that others have just closed take a moment.
      let [before, same] = [sockets(), 0];
      await until('the others are closed', () => {
        same = sockets() === before ? same + 1 : 0;
        before = sockets();
        return same >= SAME_LOOKS;
      });
      const store = subject.wire?.open(client);
      await Promise.all(Array.from({ length: 10 }, () => store?.read(randomUUID())));
      expect(sockets()).toBeGreaterThan(before);
      await store?.close();
      await until('all are closed', () => sockets() <= before, 5_000);
    });
  });
}

/** What was answered agrees with what stands there. Doubt may be said; a stranger's conflict or a false "did not happen" may not. */
async function agrees({ direct, id, label }: Cell, answer: WriteResult | string, revision: string): Promise<void> {
  const standing = await direct.read(id);
  if (typeof answer === 'string') {
    expect(answer, label).toBe('WRITE_UNKNOWN');
    return;
  }
  expect(standing?.record.revision, label).toBe(revision);
  if (answer.ok) expect(answer.version, label).toBe(standing?.version);
  else expect(answer.reason === 'conflict' && answer.current?.record.revision, label).toBe(revision);
}

const OPERATIONS: Readonly<Record<string, CellTest>> = {
  async 'a record is created, or found to be our own'(cell) {
    const record = runningRecord(cell.direct);
    cell.spoil('create', cell.id);
    await agrees(cell, await seen(cell.store.create(cell.id, record)), record.revision);
  },
  async 'a record is replaced, or found to be our own'(cell) {
    const before = await cell.direct.create(cell.id, runningRecord(cell.direct));
    const record = runningRecord(cell.direct);
    cell.spoil('replace', cell.id);
    await agrees(cell, await seen(cell.store.replace(cell.id, record, before.ok ? before.version : '')), record.revision);
  },
  async 'a record is deleted, or found to be gone'(cell) {
    const { id, label } = cell;
    const before = await cell.direct.create(id, runningRecord(cell.direct));
    cell.spoil('delete', id);
    const answer = await seen(cell.store.delete(id, before.ok ? before.version : ''));
    if (typeof answer === 'string') expect(answer, label).toBe('WRITE_UNKNOWN');
    else {
      expect(answer.ok || answer.current, label).toBe(answer.ok ? true : undefined);
      expect(await cell.direct.read(id), label).toBeUndefined();
    }
  },
  async 'a record is read as it stands, or not at all'(cell) {
    const record = runningRecord(cell.direct);
    await cell.direct.create(cell.id, record);
    cell.spoil('read', cell.id);
    const answer = await seen(cell.store.read(cell.id));
    // A lost answer to a read is no doubt: nothing was to be changed.
    if (typeof answer === 'string') expect(answer, cell.label).toBe('STORE_UNAVAILABLE');
    // A store with a clock of its own may have raised the token.
    else expect(answer?.record, cell.label).toMatchObject({ ...record, token: expect.any(Number) });
  },
};

const optionsOf = ({ store, key }: Cell, more: Partial<RunOnceOptions<string>> = {}): RunOnceOptions<string> => ({
  store,
  operation: OPERATION,
  key,
  leaseMs: LONG_MS,
  ...more,
});

/** The work has run so often, in this attempt, and everybody else is told the same. */
async function ranOnce(cell: Cell, attempt: number): Promise<void> {
  let runs = 0;
  const result = await tryRunOnce<string>(optionsOf(cell), () => `run ${++runs}`);
  expect(result, cell.label).toEqual({ kind: 'completed', value: 'run 1', replayed: false, saved: true, attempt });
  const replay = await tryRunOnce<string>(optionsOf(cell, { store: cell.direct }), () => `run ${++runs}`);
  expect(replay, cell.label).toEqual({ kind: 'completed', value: 'run 1', replayed: true, saved: true, attempt });
  expect(runs, cell.label).toBe(1);
}

const RUNS: Readonly<Record<string, CellTest>> = {
  async 'a first claim is one run'(cell) {
    cell.spoil('create', cell.id);
    await ranOnce(cell, 1);
  },
  async 'a takeover is one run, in the next attempt'(cell) {
    await cell.direct.create(cell.id, runningRecord(cell.direct, { leaseMs: 0 }));
    cell.spoil('replace', cell.id);
    await ranOnce(cell, 2);
  },
  async 'a completion is saved'(cell) {
    let runs = 0;
    const result = await tryRunOnce<string>(optionsOf(cell), () => {
      cell.spoil('replace', cell.id);
      return `run ${++runs}`;
    });
    expect(result, cell.label).toMatchObject({ kind: 'completed', value: 'run 1', saved: true, replayed: false });
    expect(await tryRunOnce<string>(optionsOf(cell, { store: cell.direct }), () => 'again'), cell.label).toMatchObject({
      value: 'run 1',
      replayed: true,
    });
  },
  async 'a release lets the next call run at once'(cell) {
    const thrown = new Error('the work failed');
    const failing = tryRunOnce<string>(optionsOf(cell), () => {
      cell.spoil('replace', cell.id);
      throw thrown;
    });
    await expect(failing, cell.label).rejects.toBe(thrown);
    expect((await cell.direct.read(cell.id))?.record.state, cell.label).toBe('released');
    expect(await tryRunOnce<string>(optionsOf(cell), () => 'next'), cell.label).toMatchObject({ value: 'next', attempt: 2 });
  },
  async 'a renewal does not end the lease'(cell) {
    const { direct, id, label } = cell;
    const result = await tryRunOnce<boolean>({ ...optionsOf(cell), leaseMs: 12_000 } as unknown as RunOnceOptions<boolean>, async (run) => {
      const claimed = (await direct.read(id))?.version;
      cell.spoil('replace', id);
      await until('it was renewed', async () => (await direct.read(id))?.version !== claimed);
      return run.signal.aborted;
    });
    expect(result, label).toMatchObject({ kind: 'completed', value: false, saved: true, attempt: 1 });
  },
  async 'a step is done once and kept'(cell) {
    let steps = 0;
    const failing = tryRunOnce<string>(optionsOf(cell), async (run) => {
      cell.spoil('replace', cell.id);
      await run.step('one', () => ++steps);
      throw new Error('after the step');
    });
    await expect(failing, cell.label).rejects.toThrow('after the step');
    const again = await tryRunOnce<string>(optionsOf(cell), async (run) => `${run.attempt}: ${await run.step('one', () => ++steps)}`);
    expect(again, cell.label).toMatchObject({ value: '2: 1' });
  },
};

async function acquired({ store, key, label }: Cell) {
  const got = await tryAcquire(storeLeases(store), key, { leaseMs: LONG_MS, renew: 'none' });
  expect(got.kind, label).toBe('acquired');
  if (got.kind !== 'acquired') throw new Error(got.kind);
  return got.lease;
}

const LEASES: Readonly<Record<string, CellTest>> = {
  async 'a named lease is acquired for the first time'(cell) {
    cell.spoil('create', cell.leaseId);
    const lease = await acquired(cell);
    expect(await storeLeases(cell.direct).read(cell.key), cell.label).toMatchObject({ held: true, token: lease.token, owner: lease.fence.owner });
    expect(await lease.release(), cell.label).toBe('released');
  },
  async 'a named lease is acquired again, with a greater token'(cell) {
    const first = await acquired(cell);
    await first.release();
    cell.spoil('replace', cell.leaseId);
    const second = await acquired(cell);
    expect(second.token, cell.label).toBeGreaterThan(first.token);
    expect(await storeLeases(cell.direct).read(cell.key), cell.label).toMatchObject({ held: true, token: second.token });
    await second.release();
  },
  async 'a named lease is renewed'(cell) {
    const lease = await acquired(cell);
    cell.spoil('replace', cell.leaseId);
    let answer = await seen(lease.renew());
    // Doubt is no loss, nor is a refusal whose reason broke off: the lease goes on, and is renewed again. A client that never tries again may meet
    // a pooled connection that the fault before has cost, too.
    for (let tries = 1; (answer === 'WRITE_UNKNOWN' || answer === 'STORE_UNAVAILABLE') && tries < 8; tries++) answer = await seen(lease.renew());
    expect(answer, cell.label).toBeUndefined();
    lease.assertHeld();
    expect(await storeLeases(cell.direct).read(cell.key), cell.label).toMatchObject({ held: true, token: lease.token });
    await lease.release();
  },
  async 'a named lease is released'(cell) {
    const lease = await acquired(cell);
    cell.spoil('replace', cell.leaseId);
    expect(await lease.release(), cell.label).toBe('released');
    expect(await storeLeases(cell.direct).read(cell.key), cell.label).toMatchObject({ held: false, token: lease.token });
  },
};
