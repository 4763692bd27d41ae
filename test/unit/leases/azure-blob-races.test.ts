import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blobLeases } from '../../../src/leases/azure-blob/index.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';

const SETTING = 'RERUNSAFE_TEST_AZURE_BLOB_RACES';
let azurite: Azurite;

beforeAll(async () => {
  azurite = await startAzurite({ services: ['blob'] });
  process.env[SETTING] = azurite.connectionString;
  await blobLeases({ connection: SETTING }).setUp?.();
}, 60_000);

afterAll(async () => {
  delete process.env[SETTING];
  await azurite?.stop();
});

it('I6 of 32 that race for a new name exactly one acquires it, the others are told that it is held', async () => {
  const leases = Array.from({ length: 4 }, () => blobLeases({ connection: SETTING, requestTimeoutMs: 20_000 }));
  const got = await Promise.all(Array.from({ length: 32 }, (_, i) => leases[i % 4]?.acquire('race', { owner: randomUUID(), leaseMs: 60_000 })));
  expect(got.filter((one) => one?.kind === 'acquired')).toHaveLength(1);
  expect(got.filter((one) => one?.kind === 'held')).toHaveLength(31);
}, 60_000);

it('I5 I6 eight workers take turns: never two at once, tokens strictly increase', async () => {
  const tokens: number[] = [];
  let inside = 0;
  const worker = async (): Promise<void> => {
    const leases = blobLeases({ connection: SETTING, requestTimeoutMs: 20_000 });
    for (let turns = 0; turns < 4; ) {
      const owner = randomUUID();
      const got = await leases.acquire('turns', { owner, leaseMs: 30_000 });
      if (got.kind === 'acquired') {
        inside += 1;
        expect(inside).toBe(1);
        tokens.push(got.token);
        turns += 1;
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
        expect(await leases.release('turns', { owner, token: got.token })).toBe('released');
      }
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 30));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(tokens).toHaveLength(32);
  for (let i = 1; i < tokens.length; i += 1) expect(tokens[i]).toBeGreaterThan(tokens[i - 1] ?? 0);
}, 60_000);

it('I5 I6 copies of one acquisition that are sent at the same time get one lease and one token', async () => {
  const leases = blobLeases({ connection: SETTING, requestTimeoutMs: 20_000 });
  const owner = randomUUID();
  const got = await Promise.all(Array.from({ length: 6 }, () => leases.acquire('copies', { owner, leaseMs: 30_000 })));
  expect(new Set(got.map((one) => one.kind))).toEqual(new Set(['acquired']));
  expect(new Set(got.map((one) => (one.kind === 'acquired' ? one.token : undefined))).size).toBe(1);
}, 60_000);

it('I3 of 16 that race for one slot, over and over, one does it', async () => {
  const leases = blobLeases({ connection: SETTING, requestTimeoutMs: 20_000 });
  let done = 0;
  const runner = async (): Promise<void> => {
    for (;;) {
      const owner = randomUUID();
      const got = await leases.acquire('slot', { owner, leaseMs: 30_000, slot: 1000 });
      if (got.kind === 'slot-done') return;
      if (got.kind === 'acquired') {
        done += 1;
        await leases.release('slot', { owner, token: got.token, slotDone: 1000 });
      } else await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 40));
    }
  };
  await Promise.all(Array.from({ length: 16 }, runner));
  expect(done).toBe(1);
}, 60_000);
