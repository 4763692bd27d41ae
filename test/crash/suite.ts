import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { isLapsed, type RecordId } from '../../src/core/record.ts';
import { LEASE_OPERATION } from '../../src/core/store-leases.ts';
import { runOnce, storeLeases, tryRunOnce, withLease } from '../../src/index.ts';
import { until } from '../support/promises-case.ts';
import { type Opened, openPlace, type Place } from './place.ts';
import { Workers } from './processes.ts';
import { OPERATION } from './worker-task.ts';

const PROCESSES = 4;
const LEASE_MS = 800;
/** A response's Date is cut to seconds. */
const DATE_RESOLUTION_MS = 1_000;
/** What requests take on a busy machine. */
const REQUESTS_MS = 8_000;

export function crashSuite(name: string, start: () => Promise<{ place: Place; stop(): Promise<void> }>): void {
  describe(`separate processes on ${name}`, () => {
    let stop: () => Promise<void>;
    let opened: Opened;
    let workers: Workers;
    beforeAll(async () => {
      const started = await start();
      stop = started.stop;
      workers = new Workers(started.place);
      opened = openPlace(started.place);
      await opened.store.setUp?.();
    });
    afterEach(() => workers.endAll());
    afterAll(async () => {
      opened?.close();
      await stop?.();
    });

    it(`I4 I5 of ${PROCESSES} processes that add to one counter under a lease that keeps running out, no addition is lost and none is done twice`, async () => {
      const times = 8;
      const stallMs = LEASE_MS + opened.store.clock.uncertaintyMs + DATE_RESOLUTION_MS + 1_000;
      const running = Array.from({ length: PROCESSES }, (_, n) =>
        workers.start({ do: 'count', times, leaseMs: LEASE_MS, stallAt: n % 2 === 0 ? n + 2 : 0, stallMs }),
      );
      const reports = await Promise.all(running.map((worker) => worker.said()));
      expect(reports.map(({ done }) => done)).toEqual(Array.from({ length: PROCESSES }, () => times));
      expect(await opened.counter.read()).toBe(PROCESSES * times);
      // Without a single late write the test would have shown nothing.
      expect(reports.reduce((sum, { refused }) => sum + Number(refused), 0)).toBeGreaterThan(0);
    }, 90_000);

    it(`I1 I2 of ${PROCESSES} processes with the same 25 keys, one runs each key and all have the same outcome`, async () => {
      const rounds = 25;
      const running = Array.from({ length: PROCESSES }, () => workers.start({ do: 'rounds', rounds }));
      const reports = (await Promise.all(running.map((worker) => worker.said()))) as { ran: number[]; values: string[] }[];
      const ran = reports.flatMap((report) => report.ran).sort((a, b) => a - b);
      expect(ran).toEqual(Array.from({ length: rounds }, (_, round) => round));
      for (const { values } of reports) expect(values).toEqual(reports[0]?.values);
    }, 60_000);

    it('I3 I6 I10 a process killed between claim and completion: refused until its lease ran out, then run again with its step kept', async () => {
      const key = randomUUID();
      const worker = workers.start({ do: 'hang', key, leaseMs: LEASE_MS });
      expect(await worker.said()).toEqual({ started: 1 });
      worker.kill('SIGKILL');
      const killedAtMs = performance.now();
      await worker.ended();
      const options = { store: opened.store, operation: OPERATION, key };
      expect(await tryRunOnce(options, () => 'overlap')).toMatchObject({ kind: 'in-flight' });
      const work = (run: { attempt: number; step(name: string, work: () => string): Promise<string> }): Promise<string> =>
        run.step('charge', () => 'charged twice').then((charged) => `attempt ${run.attempt}: ${charged}`);
      expect(await runOnce({ ...options, onInFlight: { waitMs: 30_000 } }, work)).toBe('attempt 2: charged before the crash');
      const afterMs = performance.now() - killedAtMs;
      expect(afterMs).toBeLessThan(LEASE_MS + opened.store.clock.uncertaintyMs + DATE_RESOLUTION_MS + REQUESTS_MS);
      expect(await runOnce(options, work)).toBe('attempt 2: charged before the crash');
    });

    it('I2 I4 a process stopped past its lease: its late result, step and fenced write change nothing, and it is told', async () => {
      const key = randomUUID();
      const worker = workers.start({ do: 'sleep', key, leaseMs: LEASE_MS });
      expect(await worker.said()).toEqual({ started: 1 });
      worker.kill('SIGSTOP');
      const id = recordId(OPERATION, [], keyParts(key));
      await lapsed(opened.store, id);
      const value = await runOnce({ store: opened.store, operation: OPERATION, key }, async (run) => {
        if (run.fence === undefined) throw new Error('no fence');
        await opened.counter.claim(run.fence);
        await opened.counter.write(run.fence, 7);
        return 'the successor';
      });
      expect(value).toBe('the successor');
      const settled = JSON.stringify((await opened.store.read(id))?.record);

      worker.kill('SIGCONT');
      worker.wake();
      expect(await worker.said()).toEqual({
        held: 'LEASE_LOST',
        written: 'STALE_TOKEN',
        aborted: true,
        step: 'LEASE_LOST',
        result: { kind: 'completed', value: 'the successor', replayed: true, saved: true, attempt: 2 },
      });
      expect(JSON.stringify((await opened.store.read(id))?.record)).toBe(settled);
      expect(await opened.counter.read()).toBe(7);
    });

    it('I4 I5 a process stopped past its named lease: assertHeld throws, its fenced write is refused, its renewal and release do not touch the successor', async () => {
      const leaseName = randomUUID();
      const worker = workers.start({ do: 'sleep under lease', name: leaseName, leaseMs: LEASE_MS });
      const { started } = await worker.said();
      worker.kill('SIGSTOP');
      await lapsed(opened.store, recordId(LEASE_OPERATION, [], keyParts(leaseName)));
      const leases = storeLeases(opened.store);
      const result = await withLease(leases, leaseName, { leaseMs: 60_000, waitMs: 10_000 }, async (lease) => {
        expect(lease.token).toBeGreaterThan(Number(started));
        await opened.counter.claim(lease.fence);
        await opened.counter.write(lease.fence, 8);
        worker.kill('SIGCONT');
        worker.wake();
        const found = await worker.said();
        lease.assertHeld();
        await lease.renew();
        return found;
      });
      expect(result).toEqual({
        kind: 'done',
        released: 'released',
        value: { held: 'LEASE_LOST', written: 'STALE_TOKEN', aborted: true, renewed: 'LEASE_LOST', released: 'lost' },
      });
      expect(await opened.counter.read()).toBe(8);
    });
  });
}

const lapsed = (store: RecordStore, id: RecordId): Promise<void> =>
  until('the lease has run out', async () => {
    const standing = await store.read(id);
    return standing !== undefined && isLapsed(standing.record, standing.ageMs, store.clock.uncertaintyMs);
  });
