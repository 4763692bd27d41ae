import type { TableClient } from '@azure/data-tables';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fencedClaim, fencedDelete, fencedUpsert, isFencedDeletion } from '../../../src/stores/azure-tables/index.ts';
import { freshId, isWrite, methods, type Subject, startSubject } from './azure-tables-subject.ts';

let subject: Subject;
let client: TableClient;
beforeAll(async () => {
  subject = await startSubject();
  client = subject.client();
  await client.createTable();
});
afterAll(() => subject.stop());
beforeEach(() => subject.proxy.clear());

const fence = (token: number) => ({ id: 'nightly', owner: `owner-${token}`, token });
const freshKeys = () => ({ partitionKey: 'reports', rowKey: freshId() });
const stale = (token: number, storedToken: number) => ({ code: 'STALE_TOKEN', facts: { id: 'nightly', token, storedToken } });
const stand = (keys: { partitionKey: string; rowKey: string }) => client.getEntity<Record<string, unknown>>(keys.partitionKey, keys.rowKey);
const T = 1_767_225_600_000;

describe('fenced writes', () => {
  it('I4 a lower token is refused and changes nothing; the same and a higher one land', async () => {
    const keys = freshKeys();
    await fencedUpsert(client, fence(T + 2), { ...keys, total: 1 });
    await fencedUpsert(client, fence(T + 2), { ...keys, total: 2 });
    await expect(fencedUpsert(client, fence(T + 1), { ...keys, total: 99 })).rejects.toMatchObject(stale(T + 1, T + 2));
    await expect(fencedDelete(client, fence(T + 1), keys)).rejects.toMatchObject(stale(T + 1, T + 2));
    await expect(fencedClaim(client, fence(T + 1), keys)).rejects.toMatchObject(stale(T + 1, T + 2));
    expect(await stand(keys)).toMatchObject({ total: 2, fence: BigInt(T + 2) });
    const { etag } = await fencedUpsert(client, fence(T + 3), { ...keys, total: 3 });
    expect(await stand(keys)).toMatchObject({ total: 3, fence: BigInt(T + 3), etag });
  });

  it('keeps other columns when merging and drops them when replacing', async () => {
    const keys = freshKeys();
    await client.createEntity({ ...keys, note: 'from before' });
    await fencedUpsert(client, fence(T), { ...keys, total: 1 });
    expect(await stand(keys)).toMatchObject({ total: 1, note: 'from before' });
    await fencedUpsert(client, fence(T), { ...keys, total: 2 }, { mode: 'Replace' });
    expect(await stand(keys)).not.toHaveProperty('note');
  });

  it('I4 a claim returns what stands there and shuts out lower tokens from that moment', async () => {
    const keys = freshKeys();
    await fencedUpsert(client, fence(T + 1), { ...keys, total: 5 });
    const { entity, etag } = await fencedClaim<{ total: number }>(client, fence(T + 2), keys);
    expect(entity?.total).toBe(5);
    expect(await stand(keys)).toMatchObject({ total: 5, etag });
    await expect(fencedUpsert(client, fence(T + 1), { ...keys, total: 6 })).rejects.toMatchObject(stale(T + 1, T + 2));
  });

  it('I4 a claim on what does not exist shuts out a stale creation, and is no entity', async () => {
    const keys = freshKeys();
    expect((await fencedClaim(client, fence(T + 2), keys)).entity).toBeUndefined();
    expect(isFencedDeletion(await stand(keys))).toBe(true);
    await expect(fencedUpsert(client, fence(T + 1), { ...keys, total: 6 })).rejects.toMatchObject(stale(T + 1, T + 2));
    await fencedUpsert(client, fence(T + 2), { ...keys, total: 7 });
    expect(isFencedDeletion(await stand(keys))).toBe(false);
    expect((await fencedClaim<{ total: number }>(client, fence(T + 3), keys)).entity?.total).toBe(7);
  });

  it('I5 a deletion leaves its token behind: a stale holder cannot bring the entity back', async () => {
    const keys = freshKeys();
    await fencedUpsert(client, fence(T + 1), { ...keys, total: 1 });
    await fencedDelete(client, fence(T + 2), keys);
    const left = await stand(keys);
    expect(isFencedDeletion(left)).toBe(true);
    expect(left).not.toHaveProperty('total');
    expect((await fencedClaim(client, fence(T + 2), keys)).entity).toBeUndefined();
    await expect(fencedUpsert(client, fence(T + 1), { ...keys, total: 1 })).rejects.toMatchObject(stale(T + 1, T + 2));
  });

  it('I4 of holders that write at once the highest token is what stands in the end', async () => {
    const keys = freshKeys();
    const tokens = Array.from({ length: 12 }, (_, n) => T + ((n * 7) % 12));
    const results = await Promise.allSettled(tokens.map((token) => fencedUpsert(client, fence(token), { ...keys, by: String(token) })));
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'STALE_TOKEN' });
    expect(await stand(keys)).toMatchObject({ fence: BigInt(T + 11), by: String(T + 11) });
  });

  it('I7 a write whose answers were all lost is found by its nonce and not made again', async () => {
    const keys = freshKeys();
    await fencedUpsert(client, fence(T), { ...keys, total: 1 });
    subject.proxy.clear();
    subject.proxy.inject({ match: isWrite, times: 3, action: 'drop-answer' });
    const { etag } = await fencedUpsert(client, fence(T), { ...keys, total: 2 });
    expect(methods(subject.proxy.requests)).toEqual(['GET 200', 'PATCH 204', 'PATCH 412', 'PATCH 412', 'GET 200']);
    expect(await stand(keys)).toMatchObject({ total: 2, etag });
  });

  it('I8 a write in doubt that cannot be looked up is WRITE_UNKNOWN', async () => {
    const keys = freshKeys();
    subject.proxy.inject({ nth: 2, times: 99, action: 'drop-answer' });
    await expect(fencedUpsert(client, fence(T), { ...keys, total: 1 })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it('costs a read and a write', async () => {
    const keys = freshKeys();
    await fencedUpsert(client, fence(T), { ...keys, total: 1 });
    expect(methods(subject.proxy.requests)).toEqual(['GET 404', 'POST 204']);
  });

  it('refuses a token that is no whole number', async () => {
    await expect(fencedUpsert(client, fence(1.5), freshKeys())).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
