import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { LEASE_OPERATION } from '../../src/core/store-leases.ts';
import { storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { openPlace } from '../crash/place.ts';
import { KINDS } from './kinds.ts';
import { openLeases, type Place } from './places.ts';

const NAME = 'nightly';
const LEASE_MS = 20_000;
const YEAR_MS = 365 * 24 * 3_600_000;

async function turn(leases: LeaseProvider, name = NAME): Promise<number> {
  const owner = randomUUID();
  const got = await leases.acquire(name, { owner, leaseMs: LEASE_MS });
  if (got.kind !== 'acquired') throw new Error(got.kind);
  expect(await leases.release(name, { owner, token: got.token })).toBe('released');
  return got.token;
}

const growing = (tokens: readonly number[]): void => expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));

/** Everything that could remember a token is gone: the row, the blob, the file. */
async function remove(place: Place): Promise<void> {
  if (place.kind === 'file') return rm(join(place.directory, 'leases'), { recursive: true });
  if (place.kind === 'azure-blob') {
    const container = BlobServiceClient.fromConnectionString(place.connectionString).getContainerClient(place.containerName);
    for await (const { name } of container.listBlobsFlat()) await container.deleteBlob(name);
    return;
  }
  const { store, close } = openPlace(place);
  const id = recordId(LEASE_OPERATION, [], keyParts(NAME));
  const standing = await store.read(id);
  if (standing === undefined) throw new Error('no row');
  expect(await store.delete(id, standing.version)).toMatchObject({ ok: true });
  close();
}

describe.concurrent.each(Object.entries(KINDS))('tokens on %s', (_, start) => {
  it('I5 cosmos-db-design-patterns #91 grow over release, deletion of what keeps them, and a restart of what it runs on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-tokens-'));
    let running = await start(folder);
    let opened = openLeases(running.place);
    try {
      await opened.leases.setUp();
      const tokens = [await turn(opened.leases), await turn(opened.leases)];
      await remove(running.place);
      await opened.leases.setUp();
      tokens.push(await turn(opened.leases), await turn(opened.leases));

      const before = tokens.at(-1) as number;
      opened.close();
      await running.stop();
      running = await start(folder);
      opened = openLeases(running.place);
      expect(await opened.leases.read(NAME)).toMatchObject({ held: false, token: before });
      tokens.push(await turn(opened.leases));
      await opened.leases.break(NAME);
      tokens.push(await turn(opened.leases));
      growing(tokens);
    } finally {
      opened.close();
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    }
  }, 120_000);
});

it('I5 a lease row is never purged, free or left by the dead, and its token stands a year later', async () => {
  const clock = virtualClock();
  const store = memoryStore({ clock });
  const leases = storeLeases(store);
  const first = await turn(leases);
  const dead = await leases.acquire('dead', { owner: randomUUID(), leaseMs: LEASE_MS });
  await clock.advance(YEAR_MS);
  expect(await store.purge({ lapsedOlderThanMs: 3_600_000 })).toEqual({ removed: 0 });
  expect(await leases.read(NAME)).toMatchObject({ held: false, token: first });
  const next = await leases.acquire('dead', { owner: randomUUID(), leaseMs: LEASE_MS });
  if (dead.kind !== 'acquired' || next.kind !== 'acquired') throw new Error(`${dead.kind}, ${next.kind}`);
  expect(next.token).toBeGreaterThan(dead.token);
});
