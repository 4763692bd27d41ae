import type { TableClient } from '@azure/data-tables';
import { describe, expect, it } from 'vitest';
import { type Policy, recordTries, type Try, watchTries } from '../../../src/stores/azure-tables/tries.ts';

/** Where the onlooker stands in the SDK's pipeline, without the SDK. */
function onlooker(): Policy {
  const found: Policy[] = [];
  const pipeline = { addPolicy: (policy: Policy) => void found.push(policy) };
  watchTries({ pipeline } as unknown as TableClient);
  expect(found).toHaveLength(1);
  return found[0] as Policy;
}

const request = { url: 'https://account.table.core.windows.net/t' } as Parameters<Policy['sendRequest']>[0];

async function triesOf(answer: { status: number; bodyAsText?: string } | Error): Promise<Try[]> {
  const tries: Try[] = [];
  const { sendRequest } = onlooker();
  const next = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as never));
  await recordTries(tries, () => sendRequest(request, next)).catch(() => {});
  return tries;
}

describe('what each try of a call to the table came to', () => {
  it.each([
    [200, 'answered'],
    [204, 'answered'],
    [404, 'answered'],
    [409, 'answered'],
    [412, 'answered'],
    [408, 'maybe'],
    [500, 'maybe'],
    [502, 'maybe'],
    [503, 'maybe'],
    [504, 'maybe'],
    [429, 'never'],
  ])('I8 status %i: %s', async (status, said) => {
    expect(await triesOf({ status })).toEqual([said]);
  });

  it('I8 a busy server has turned it away; a connection that ended says nothing; one that never was has sent nothing', async () => {
    expect(await triesOf({ status: 503, bodyAsText: '{"odata.error":{"code":"ServerBusy"}}' })).toEqual(['never']);
    expect(await triesOf(Object.assign(new Error('socket'), { code: 'ECONNRESET' }))).toEqual(['maybe']);
    expect(await triesOf(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toEqual(['never']);
  });
});
