import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { tableStore } from '../../../src/stores/azure-tables/index.ts';
import { partCases } from '../../../src/testing/record-store/parts.ts';
import { register } from '../../../src/testing/suite.ts';
import { all, laterClient, type Subject, startSubject } from './azure-tables-subject.ts';

let subject: Subject;
beforeAll(async () => {
  subject = await startSubject();
});
afterAll(() => subject.stop());

for (const place of ['of the store', 'of the caller']) {
  register({ describe, it }, `Table Storage, parts of records in partitions ${place}`, { 'large outcomes': partCases }, async () => {
    let aheadMs = 0;
    const table = tableStore({ client: laterClient(subject.client(`t${randomUUID().replaceAll('-', '')}`), () => aheadMs) });
    await table.setUp();
    // Orphans are looked for by the store of the whole table.
    const store = place === 'of the store' ? table : { ...table.inPartition(`customer-${randomUUID()}`), purge: table.purge };
    const advance = async (ms: number): Promise<void> => {
      aheadMs += ms;
      // The store learns the service's time from its answers.
      await all(store, { operation: 'none' });
    };
    return { store, advance };
  });
}
