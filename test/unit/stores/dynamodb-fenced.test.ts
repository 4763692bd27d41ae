import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fence } from '../../../src/core/ports.ts';
import { fencedDelete, fencedPut, fencedUpdate, isFencedDeletion } from '../../../src/stores/dynamodb/index.ts';
import type { Emulator } from '../../support/dynamodb.ts';
import { EMULATORS, freshId, plainTable, rawItem } from './dynamodb-subject.ts';

const fence = (token: number): Fence => ({ id: 'nightly', owner: 'o', token });
const stale = (token: number, storedToken: number) => ({ code: 'STALE_TOKEN', facts: { id: 'nightly', token, storedToken } });

describe.each(EMULATORS)('fenced writes on $name', ({ start }) => {
  let emulator: Emulator;
  let client: DynamoDBClient;
  let TableName: string;

  beforeAll(async () => {
    emulator = await start();
    client = emulator.client();
    TableName = await plainTable(client);
  });
  afterAll(() => emulator?.stop());

  const put = (id: string, token: number, amount: string, more: object = {}) =>
    fencedPut(client, fence(token), { TableName, Item: { id: { S: id }, amount: { N: amount } }, ...more });

  it('I4 a put with a lower token changes nothing and is told both tokens; the same and higher ones pass', async () => {
    const id = freshId();
    await put(id, 5, '1');
    await put(id, 5, '2');
    await put(id, 7, '3');
    await expect(put(id, 6, '4')).rejects.toMatchObject(stale(6, 7));
    expect(await rawItem(client, TableName, id)).toEqual({ id: { S: id }, amount: { N: '3' }, fence: { N: '7' } });
  });

  it('an item that was there before any fence is taken', async () => {
    const id = freshId();
    await fencedPut(client, fence(1), { TableName, Item: { id: { S: id } } }, { fenceAttribute: 'otherFence' });
    await put(id, 1, '1');
    expect((await rawItem(client, TableName, id))?.amount).toEqual({ N: '1' });
  });

  it("the caller's own condition fails as the SDK says it, staleness is told apart", async () => {
    const id = freshId();
    const onlyNew = { ConditionExpression: 'attribute_not_exists(#id)', ExpressionAttributeNames: { '#id': 'id' } };
    const onlySmall = { ConditionExpression: 'attribute_exists(id) AND amount < :max', ExpressionAttributeValues: { ':max': { N: '10' } } };
    await expect(put(id, 5, '1', onlySmall)).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    await put(id, 5, '1', onlyNew);
    await expect(put(id, 6, '2', onlyNew)).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    await put(id, 6, '20', onlySmall);
    await expect(put(id, 6, '30', onlySmall)).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    await expect(put(id, 5, '30', onlySmall)).rejects.toMatchObject(stale(5, 6));
  });

  it('I4 a claim reads the item and shuts out the holder before', async () => {
    const id = freshId();
    await put(id, 5, '1');
    const Key = { id: { S: id } };
    const { Attributes } = await fencedUpdate(client, fence(6), { TableName, Key, ReturnValues: 'ALL_NEW' });
    expect(Attributes).toEqual({ id: { S: id }, amount: { N: '1' }, fence: { N: '6' } });
    await expect(put(id, 5, '2')).rejects.toMatchObject(stale(5, 6));
    await expect(fencedUpdate(client, fence(5), { TableName, Key })).rejects.toMatchObject(stale(5, 6));
  });

  it.each([
    ['SET amount = :n', { amount: { N: '9' }, note: { S: 'x' } }],
    ['set #set = :n, amount = :n', { amount: { N: '9' }, reset: { N: '9' }, note: { S: 'x' } }],
    ['REMOVE note SET amount = :n', { amount: { N: '9' } }],
    ['ADD amount :n', { amount: { N: '10' }, note: { S: 'x' } }],
    ['ADD amount :n REMOVE note', { amount: { N: '10' } }],
  ])('an update says what it says without the fence: %s', async (UpdateExpression, expected) => {
    const id = freshId();
    await fencedPut(client, fence(5), { TableName, Item: { id: { S: id }, amount: { N: '1' }, note: { S: 'x' } } });
    const names = UpdateExpression.includes('#set') ? { ExpressionAttributeNames: { '#set': 'reset' } } : {};
    const ExpressionAttributeValues = { ':n': { N: '9' } };
    await fencedUpdate(client, fence(6), { TableName, Key: { id: { S: id } }, UpdateExpression, ExpressionAttributeValues, ...names });
    expect(await rawItem(client, TableName, id)).toEqual({ id: { S: id }, fence: { N: '6' }, ...expected });
  });

  it('I5 a deletion leaves its token, so that a stale holder does not bring the item back; a newer one does', async () => {
    const id = freshId();
    const Key = { id: { S: id } };
    await put(id, 5, '1');
    await expect(fencedDelete(client, fence(4), { TableName, Key })).rejects.toMatchObject(stale(4, 5));
    await fencedDelete(client, fence(6), { TableName, Key });
    expect(isFencedDeletion(await rawItem(client, TableName, id))).toBe(true);
    await expect(put(id, 5, '2')).rejects.toMatchObject(stale(5, 6));
    await fencedUpdate(client, fence(7), { TableName, Key });
    expect(isFencedDeletion(await rawItem(client, TableName, id))).toBe(true);
    const update = { UpdateExpression: 'SET amount = :n', ExpressionAttributeValues: { ':n': { N: '3' } } };
    await fencedUpdate(client, fence(7), { TableName, Key, ...update });
    expect(await rawItem(client, TableName, id)).toEqual({ ...Key, amount: { N: '3' }, fence: { N: '7' } });
  });

  it('a fence without a whole token is refused before anything is sent', async () => {
    await expect(put(freshId(), Number.NaN, '1')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(put(freshId(), 1.5, '1')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
