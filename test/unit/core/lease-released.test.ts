import { expect, it } from 'vitest';
import { memoryStore, storeLeases, withLease } from '../../../src/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';

const NAME = 'nightly';

it('I4 who was overtaken is told so: its work has ended, its release changed nothing, its slot is not marked', async () => {
  const clock = virtualClock();
  const leases = storeLeases(memoryStore({ clock }));
  const overtaken = await withLease(leases, NAME, { leaseMs: 1_000, slot: 5, renew: 'none' }, async () => {
    await leases.break(NAME);
    return 'value';
  });
  expect(overtaken).toEqual({ kind: 'done', value: 'value', released: 'lost' });
  expect((await leases.read(NAME))?.lastSlot).toBeUndefined();
  expect(await withLease(leases, NAME, { leaseMs: 1_000, slot: 5 }, () => 'again')).toEqual({ kind: 'done', value: 'again', released: 'released' });
  expect((await leases.read(NAME))?.lastSlot).toBe(5);
});
