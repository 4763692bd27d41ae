import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { recordStoreConformance } from '../../src/testing/index.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from '../support/dynamodb.ts';

const emulators = [
  { name: 'dynalite', start: startDynalite },
  ...((await javaAvailable()) ? [{ name: 'DynamoDB Local', start: startDynamoDbLocal }] : []),
];

describe.each(emulators)('dynamodbStore on $name', ({ name, start }) => {
  let emulator: Emulator;
  let inRealTime: RecordStore;
  let inVirtualTime: RecordStore;
  let aheadMs = 0;

  beforeAll(async () => {
    emulator = await start();
    const clock = { nowMs: () => Date.now() + aheadMs };
    inRealTime = dynamodbStore({ client: emulator.client(), tableName: `conformance-${randomUUID()}` });
    inVirtualTime = dynamodbStore({ client: emulator.client(), tableName: `conformance-${randomUUID()}`, clock });
    await Promise.all([inRealTime.setUp?.(), inVirtualTime.setUp?.()]);
  });
  afterAll(() => emulator?.stop());

  const advance = (ms: number): void => {
    aheadMs += ms;
  };
  // Racers beyond this only measure how many sockets the SDK opens.
  const concurrency = { racers: 24, rounds: 10, workers: 6, increments: 15 };
  recordStoreConformance({
    name: `${name}, in virtual time`,
    describe,
    it,
    createStore: async () => ({ store: inVirtualTime, advance }),
    concurrency,
  });
  recordStoreConformance({ name: `${name}, in real time`, describe, it, createStore: async () => ({ store: inRealTime }), concurrency });
});
