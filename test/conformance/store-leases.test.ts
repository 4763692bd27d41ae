import { afterAll, beforeAll, describe, it } from 'vitest';
import { storeLeases } from '../../src/core/store-leases.ts';
import { leaseProviderConformance } from '../../src/testing/index.ts';
import { type StoreSubject, subjects } from '../support/stores.ts';

/** Leases kept in every record store that is reached over a network; memory has a suite of its own, in virtual time. */
for (const kind of (await subjects()).filter(({ remote }) => remote)) {
  describe(`on ${kind.name}`, () => {
    let subject: StoreSubject;
    beforeAll(async () => {
      subject = await kind.start();
    }, 120_000);
    afterAll(() => subject?.stop());

    leaseProviderConformance({
      name: `storeLeases, ${kind.name}`,
      // The cases that let a lease run out wait at the same time.
      describe: describe.concurrent,
      it,
      leaseMs: 2_000,
      createLeases: async () => ({ leases: storeLeases(subject.store) }),
    });
  });
}
