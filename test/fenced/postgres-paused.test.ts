import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startWorker, type WorkerProcess } from '../../scripts/demo/calls.ts';
import type { Lease } from '../../src/index.ts';
import { fencedClaim, fencedTransaction, upsert } from '../../src/stores/postgres/index.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';
import type { Holding } from './postgres-task.ts';

const SCRIPT = new URL('postgres-worker.ts', import.meta.url).href;
const LEASE_MS = 400;

describe.runIf(await postgresAvailable())('a holder in another process is stopped past its lease, and goes on', () => {
  const stage = fencedStage();
  let worker: WorkerProcess;
  let name: string;
  let table: string;
  const start = async (): Promise<WorkerProcess> => startWorker(SCRIPT, { URL: stage.url });
  beforeAll(async () => {
    worker = await start();
  });
  afterEach(() => worker?.resume());

  /** It holds, and stands still. */
  async function stopped(form: Holding['form'], idleTimeoutMs?: number): Promise<{ ended: Promise<string> }> {
    name = stage.fresh('nightly');
    table = await stage.table('result', 'id int PRIMARY KEY, by text, fence bigint');
    const before = worker.logs.length;
    const task: Holding = { name, leaseMs: LEASE_MS, table, form, ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }) };
    const ended = worker.call<string>('hold', task).catch((error: Error) => `died: ${error.message}`);
    await vi.waitFor(() => expect(worker.logs.length).toBeGreaterThan(before), { timeout: 10_000, interval: 5 });
    worker.pause();
    return { ended };
  }
  const successor = (): Promise<Lease> => vi.waitFor(() => stage.taken(name), { timeout: 10_000, interval: 20 });
  const by = async () => (await stage.rows(`SELECT by FROM ${table}`)).map((row) => row.by);

  it('S6 I4 its write is refused by the row of the lease, whether or not the successor has written anything', async () => {
    const { ended } = await stopped('lease');
    await successor();
    worker.resume();
    expect(await ended).toBe('STALE_TOKEN');
    expect(await by()).toEqual([]);
  });

  it("S6 I4 its write is refused by the row of the lease, and the successor's stands", async () => {
    const { ended } = await stopped('lease');
    const { fence } = await successor();
    await fencedTransaction(stage.pool, fence, (tx) => tx.query(`INSERT INTO ${table} VALUES (1, 'the new one')`));
    worker.resume();
    expect(await ended).toBe('STALE_TOKEN');
    expect(await by()).toEqual(['the new one']);
  });

  it("S6 I4 its write is refused by the successor's row", async () => {
    const { ended } = await stopped('row');
    const { fence } = await successor();
    await inTransaction(stage.pool, {}, (tx) => upsert(tx, { table, key: ['id'], rows: [{ id: 1, by: 'the new one' }], fence }));
    worker.resume();
    expect(await ended).toBe('STALE_TOKEN');
    expect(await by()).toEqual(['the new one']);
  });

  it('S6 I4 a claim is enough for that: what the successor has read is what stands there', async () => {
    const { ended } = await stopped('row');
    await stage.pool.query(`INSERT INTO ${table} VALUES (1, 'an earlier one', 7)`);
    const { fence } = await successor();
    expect(await fencedClaim(stage.pool, { table, key: { id: 1 }, fence })).toEqual({ id: 1, by: 'an earlier one', fence: String(fence.token) });
    worker.resume();
    expect(await ended).toBe('STALE_TOKEN');
    expect(await by()).toEqual(['an earlier one']);
  });

  it('S6 stopped between write and COMMIT it is not overtaken: the takeover waits, and then sees what it wrote', async () => {
    const { ended } = await stopped('in the middle');
    let overtaken = false;
    const waiting = successor().then(async () => {
      overtaken = true;
      return by();
    });
    await stage.waits();
    expect(overtaken).toBe(false);
    worker.resume();
    expect(await waiting).toEqual(['the old one']);
    expect(await ended).toBe('written');
  });

  it('S6 I10 stopped there for longer than it may say nothing, it is rolled back, and the successor waits no longer', async () => {
    const { ended } = await stopped('in the middle', 600);
    await successor();
    expect(await by()).toEqual([]);
    worker.resume();
    expect(await ended).not.toBe('written');
    expect(await by()).toEqual([]);
  });

  it('S6 I10 killed there, it leaves nothing, and nobody waits for it longer than for its lease', async () => {
    const { ended } = await stopped('in the middle');
    await worker.kill();
    await successor();
    expect(await by()).toEqual([]);
    expect(await ended).toMatch('died');
    worker = await start();
  });
});
