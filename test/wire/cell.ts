/**
 * One cell of the table "operation × fault × tries": a request of a real SDK, spoiled on its way to a real emulator.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import type { RecordId } from '../../src/core/record.ts';
import { LEASE_OPERATION } from '../../src/core/store-leases.ts';
import { callsOf } from '../history/calls.ts';
import { memoryHistory } from '../history/log.ts';
import { judgePromises } from '../history/promises.ts';
import { noted } from '../history/record-store.ts';
import { judgeRegister } from '../history/register.ts';
import { deliveryOf } from '../history/traffic.ts';
import { textOf, type Violation } from '../history/violation.ts';
import { OPERATION } from '../support/promises-case.ts';
import type { FaultAction } from '../support/proxy.ts';
import type { SubjectKind, Wire, WireClient, WireOperation } from '../support/stores.ts';

export const ACTIONS: readonly FaultAction[] = [
  'drop-answer',
  'drop-request',
  'half-answer',
  'close-after',
  'duplicate',
  { delayMs: 150 },
  { delayMs: 150, at: 'request' },
];
/** The first try alone, and the first and the second. */
export const TRIES = [1, 2] as const;

export interface Cell {
  /** For messages. */
  readonly label: string;
  /** Through the proxy. */
  readonly store: RecordStore;
  /** Past it: what truly stands there. */
  readonly direct: RecordStore;
  readonly key: string;
  /** Of the run with that key. */
  readonly id: RecordId;
  /** Of the named lease with that name. */
  readonly leaseId: RecordId;
  /** From now on; settles when a request was spoiled for the first time. */
  spoil(operation: WireOperation, id: string): Promise<unknown>;
}

export type CellTest = (cell: Cell) => Promise<void>;

/** Which promises the order of the writes is judged by. `requests`: they are single requests, and follow no protocol. */
export type CellKind = 'requests' | 'runs' | 'leases';

/** All cells of one operation at once: most of their time is the waiting of the SDK between two tries. */
export async function throughAllFaults(
  { wire, client, direct, kind, of }: { wire: Wire; client: WireClient; direct: RecordStore; kind: SubjectKind; of: CellKind },
  test: CellTest,
): Promise<void> {
  const cells = ACTIONS.flatMap((action) => TRIES.map((times) => ({ action, times })));
  const results = await Promise.allSettled(
    cells.map(async ({ action, times }) => {
      const key = randomUUID();
      const label = `${typeof action === 'string' ? action : JSON.stringify(action)} × ${times}`;
      const opened = wire.open(client);
      const history = memoryHistory();
      let spoiled: Promise<unknown> | undefined;
      const cell: Cell = {
        label,
        store: noted(opened, history, 'through the proxy'),
        direct: noted(direct, history, 'past it'),
        key,
        id: recordId(OPERATION, [], keyParts(key)),
        leaseId: recordId(LEASE_OPERATION, [], keyParts(key)),
        spoil(operation, id) {
          spoiled = wire.proxy.inject({ match: wire.is(operation, id), times, action }).fired;
          return spoiled;
        },
      };
      try {
        await test(cell);
        const violations: Violation[] = [];
        for (const id of [cell.id, cell.leaseId]) {
          // The proxy may send a request twice, whoever the client is.
          const { violations: found, accepted } = judgeRegister(id, callsOf(history.events()), { ...deliveryOf(kind, client), sent: 'again' });
          violations.push(...found, ...(of === 'requests' ? [] : judgePromises(accepted, { lease: of === 'leases' })));
        }
        if (violations.length > 0) throw new Error(violations.map(textOf).join('\n'));
      } catch (cause) {
        // Without its cause: what an SDK throws carries whole sockets.
        throw new Error(`${label}: ${cause instanceof Error ? cause.message : String(cause)}`);
      } finally {
        await opened.close();
      }
      // A cell in which nothing was spoiled shows nothing.
      if (spoiled === undefined) throw new Error(`${label}: no fault was injected`);
      await spoiled;
    }),
  );
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
  if (failed.length > 0) throw new AggregateError(failed, failed.map(({ message }) => message).join('\n'));
}

/** The value, or the code of the error: what the caller of a store gets to see. */
export async function seen<T>(promise: Promise<T>): Promise<T | string> {
  try {
    return await promise;
  } catch (error) {
    if (!isRerunSafeError(error)) throw error;
    return error.code;
  }
}
