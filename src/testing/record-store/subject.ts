import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { isRerunSafeError } from '../../core/errors.ts';
import type { Conflict, Listed, ListQuery, RecordStore, Stored, WriteResult, Written } from '../../core/ports.ts';
import { type RecordId, type RecordToWrite, SCHEMA } from '../../core/record.ts';
import { type Case, sleep } from '../suite.ts';

/** What a case works on. */
export interface RecordStoreSubject {
  readonly store: RecordStore;
  /** Moves the store's clock, where a test can. */
  readonly advance?: (ms: number) => Promise<void> | void;
  readonly cleanUp?: () => Promise<void>;
}

export interface RaceSizes {
  /** Callers in one race. Default 50. */
  readonly racers?: number;
  /** Races in a row. Default 20. */
  readonly rounds?: number;
  /** Workers of the shared counter. Default 8. */
  readonly workers?: number;
  /** Increments of each worker. Default 25. */
  readonly increments?: number;
}

export type RecordStoreCase = Case<RecordStoreSubject>;

/** 46 characters, as core makes them; fresh, since several cases may share one table. */
export const freshId = (): RecordId => randomBytes(34).toString('base64url');

/** An operation of its own for each case, so that listing and purging see only its rows. */
export const freshOperation = (): string => `conformance/${randomUUID()}`;

/** A plausible record; every call gives a new owner and revision, as core does for every write. */
export const sample = (changes: Partial<RecordToWrite> = {}): RecordToWrite => ({
  schema: SCHEMA,
  operation: 'conformance',
  scope: '',
  state: 'running',
  owner: randomUUID(),
  revision: randomUUID(),
  token: 1_767_225_600_123,
  attempt: 1,
  leaseMs: 60_000,
  retentionMs: 86_400_000,
  createdAtMs: 1_767_225_600_000,
  ...changes,
});

export const completed = (changes: Partial<RecordToWrite> = {}): RecordToWrite =>
  sample({ state: 'completed', outcome: { kind: 'value', value: { done: true } }, ...changes });

export function written(result: WriteResult): Written {
  assert.equal(result.ok, true, `expected the write to be taken, got ${JSON.stringify(result)}`);
  return result as Written;
}

export function conflict(result: WriteResult): Conflict {
  assert.ok(!result.ok && result.reason === 'conflict', `expected a conflict, got ${JSON.stringify(result)}`);
  assert.ok('current' in result, 'a conflict has to say what stands there; undefined only where that is known to be nothing');
  return result;
}

export function tooLarge(result: WriteResult): void {
  assert.deepEqual(result, { ok: false, reason: 'too-large' });
}

/** What must come back for what was written: the same, but for a token that the store raised and its own stamp. */
export function assertSame(found: Stored | undefined, record: RecordToWrite, receipt?: Written): void {
  assert.ok(found, 'expected a record, found none');
  const { writtenAtMs, ...rest } = found.record;
  assert.deepEqual(rest, { ...record, token: receipt?.token ?? record.token });
  assert.ok(rest.token >= record.token, 'a store may raise a token, never lower it');
  assert.ok(Number.isSafeInteger(writtenAtMs) && writtenAtMs > 0, `writtenAtMs has to be whole epoch milliseconds, is ${writtenAtMs}`);
  assert.ok(Number.isFinite(found.ageMs) && found.ageMs >= 0, `ageMs has to be 0 or more, is ${found.ageMs}`);
  if (receipt !== undefined) assert.equal(found.version, receipt.version, 'the version that a write returns is the one that stands');
}

export const put = async (store: RecordStore, id: RecordId, record: RecordToWrite): Promise<Written> => written(await store.create(id, record));

/** Writes and reads back. */
export async function roundTrip({ store }: RecordStoreSubject, record: RecordToWrite): Promise<void> {
  const id = freshId();
  const receipt = await put(store, id, record);
  assertSame(await store.read(id), record, receipt);
  assertSame(conflict(await store.create(id, sample())).current, record, receipt);
}

export async function all(store: RecordStore, query: ListQuery): Promise<Listed[]> {
  const found: Listed[] = [];
  for await (const listed of store.list(query)) found.push(listed);
  return found;
}

export async function rejectsWith(work: Promise<unknown>, ...codes: string[]): Promise<void> {
  await assert.rejects(work, (error: unknown) => isRerunSafeError(error) && codes.includes(error.code));
}

/** Lets time pass by the subject's clock. */
export const pass = async ({ advance }: { advance?: (ms: number) => Promise<void> | void }, ms: number): Promise<void> =>
  advance === undefined ? sleep(ms) : advance(ms);
