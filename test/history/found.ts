/**
 * What the search found in our own stores.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { runningRecord } from '../support/promises-case.ts';
import type { StoreSubject } from '../support/subject.ts';
import { seen } from '../wire/cell.ts';

/** The network delivered a write twice, the second copy was refused, and the row that refused it cannot be read. */
export async function refusedAndNotLookedUp({ store: direct, wire }: StoreSubject): Promise<void> {
  if (wire === undefined) throw new Error('this store is not reached over a wire');
  const store = wire.open('a client that never tries again');
  try {
    const id = randomUUID();
    const before = await direct.create(id, runningRecord(direct));
    const record = runningRecord(direct);
    wire.proxy.inject({ match: wire.is('replace', id), action: 'duplicate' });
    wire.proxy.inject({ match: wire.is('read', id), action: 'drop-request', times: Number.POSITIVE_INFINITY });
    const answer = await seen(store.replace(id, record, before.ok ? before.version : ''));
    // Otherwise nothing was shown.
    if ((await direct.read(id))?.record.revision !== record.revision) return;
    expect(answer).toBe('WRITE_UNKNOWN');
  } finally {
    await store.close();
  }
}
