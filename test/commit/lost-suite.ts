import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import { isLapsed } from '../../src/core/record.ts';
import { type Run, type RunOnceOptions, tryRunOnce } from '../../src/index.ts';
import { until } from '../support/promises-case.ts';
import type { FaultAction } from '../support/proxy.ts';
import type { CommitPlace, Wire } from './places.ts';

const OPERATION = 'test/commit';
const LEASE_MS = 4_000;

type Lost = readonly [string, { readonly action: FaultAction; readonly times?: number }];

/** One of them: the run gets its answer all the same. */
const MENDED: readonly Lost[] = [
  ['the answer is lost', { action: 'drop-answer' }],
  ['the answers to five tries are lost', { action: 'drop-answer', times: 5 }],
  ['the answer breaks off', { action: 'half-answer' }],
  ['it never arrives', { action: 'drop-request' }],
  ['five tries never arrive', { action: 'drop-request', times: 5 }],
  ['it arrives twice', { action: 'duplicate' }],
  ['the answer is late, but not too late', { action: { delayMs: 300 } }],
  ['the answer comes after the time limit', { action: { delayMs: 2_500 } }],
  ['it arrives after the time limit, behind the next try', { action: { delayMs: 2_500, at: 'request' } }],
  ['no answer comes at all', { action: 'stall' }],
  ['the connection is closed behind the answer', { action: 'close-after' }],
  ['the service fails', { action: { status: 500 } }],
  ['the service is busy', { action: { status: 503 } }],
];

/** The network does not mend within the lease: then it is in doubt, and said. */
const BROKEN: readonly Lost[] = [
  ['all answers are lost', { action: 'drop-answer', times: 10_000 }],
  ['no answer comes to any try', { action: 'stall', times: 10_000 }],
  ['all answers break off', { action: 'half-answer', times: 10_000 }],
  ['nothing arrives', { action: 'drop-request', times: 10_000 }],
  ['the service fails every time', { action: { status: 500 }, times: 10_000 }],
];

/** What a network can do to the one request that `commitWith` sends. */
export function lostAnswersSuite(name: string, start: () => Promise<CommitPlace & { wire: Wire }>): void {
  describe(`lost answers of commitWith on ${name}`, () => {
    let place: CommitPlace & { wire: Wire };
    beforeAll(async () => {
      place = await start();
    });
    afterAll(() => place?.stop());

    const fresh = () => {
      const key = randomUUID();
      const row = `row-${key}`;
      const id = recordId(OPERATION, [], keyParts(key));
      const options = { operation: OPERATION, key };
      return {
        row,
        state: async () => (await place.store.read(id))?.record.state,
        lapsed: () =>
          until('the lease has run out', async () => {
            const standing = await place.store.read(id);
            return standing?.record.state !== 'running' || isLapsed(standing.record, standing.ageMs, place.store.clock.uncertaintyMs);
          }),
        /** Through the proxy. */
        run: (work: (run: Run) => unknown, more: Partial<RunOnceOptions> = {}) =>
          tryRunOnce<unknown>({ store: place.wire.open(), leaseMs: LEASE_MS, renew: 'none', ...options, ...more }, work),
        /** Past it. */
        again: (work: (run: Run) => unknown) => tryRunOnce<unknown>({ store: place.store, ...options }, work),
      };
    };

    it.concurrent.each(MENDED)('I7 %s: committed, once, and the answer is the value', async (_, fault) => {
      const { run, row, state } = fresh();
      const { isTransaction, proxy } = place.wire;
      const { fired } = proxy.inject({ match: (request) => isTransaction(request) && String(request.body).includes(row), ...fault });
      const result = await run(async (at) => {
        await place.commit(at, 'committed', row, { onlyNew: true });
      });
      expect(result).toMatchObject({ kind: 'completed', value: 'committed', saved: true });
      await fired;
      expect([await state(), await place.times(row)]).toEqual(['completed', 1]);
    });

    it.concurrent.each(BROKEN)(
      'I8 %s: what stands is found out or said to be unknown, row and record agree, and another call ends it, once',
      async (_, fault) => {
        const { run, row, state, lapsed, again } = fresh();
        const { isTransaction, proxy } = place.wire;
        const { fired } = proxy.inject({ match: (request) => isTransaction(request) && String(request.body).includes(row), ...fault });
        const result = await run(
          async (at) => {
            await place.commit(at, 'first', row);
          },
          { leaseMs: 3_000 },
        ).catch((error: unknown) => error);
        await fired;
        const [stands, times] = [await state(), await place.times(row)];
        const applied = fault.action === 'drop-answer' || fault.action === 'stall' || fault.action === 'half-answer';
        expect([stands, times]).toEqual(applied ? ['completed', 1] : ['running', 0]);
        expect(result).toMatchObject(
          applied ? { value: 'first', saved: true } : { code: expect.stringMatching(/WRITE_UNKNOWN|STORE_UNAVAILABLE|LEASE_LOST/) },
        );
        await lapsed();
        const later = await again(async (at) => {
          await place.commit(at, 'second', row);
        });
        expect(later).toMatchObject({ value: applied ? 'first' : 'second', replayed: applied });
        expect([await state(), await place.times(row)]).toEqual(['completed', 1]);
      },
    );

    it.concurrent('I4 a transaction that arrives after a takeover changes nothing, neither row nor record', async () => {
      const { run, row, lapsed, again } = fresh();
      const { isTransaction, proxy } = place.wire;
      const late = proxy.inject({
        match: (request) => isTransaction(request) && String(request.body).includes(row),
        times: 10_000,
        action: { delayMs: 9_000, at: 'request' },
      });
      const first = run(
        async (at) => {
          await place.commit(at, 'the old owner', row);
        },
        { leaseMs: 1_500 },
      );
      first.catch(() => {});
      await late.fired;
      await lapsed();
      const second = await again(async (at) => {
        await place.commit(at, 'the successor', `${row}-2`);
      });
      expect(second).toMatchObject({ value: 'the successor' });
      await expect(first).rejects.toMatchObject({ code: expect.stringMatching(/LEASE_LOST|WRITE_UNKNOWN/) });
      await until('the late copies have arrived', () =>
        proxy.requests.filter(({ fault }) => typeof fault === 'object' && 'at' in fault).every(({ status }) => status !== undefined),
      );
      expect([await place.times(row), await place.times(`${row}-2`)]).toEqual([0, 1]);
      expect(await again(() => 'again')).toMatchObject({ value: 'the successor', replayed: true });
    });

    it.concurrent("I8 a rule of the caller's fails while an earlier try of ours has landed: it is our own row that stands, and the commit is known to have succeeded", async () => {
      const { run, row } = fresh();
      const { isTransaction, proxy } = place.wire;
      // More than the SDK's own tries, so that the next one is a transaction of its own.
      proxy.inject({ match: (request) => isTransaction(request) && String(request.body).includes(row), times: 3, action: 'drop-answer' });
      const result = await run(async (at) => {
        await place.commit(at, 'committed', row, { onlyNew: true });
      });
      expect(result).toMatchObject({ value: 'committed', saved: true });
      expect(await place.times(row)).toBe(1);
    });
  });
}
