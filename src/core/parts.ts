/**
 * Large outcomes lie beside their record, in parts: a store charges for the size of a record with each write and each refusal, and has a limit.
 *
 * Parts are written before the record that names them, each under a name that no other content ever has: its attempt's owner, and a hash of the whole.
 * So a stale owner's parts are never read, and what a late copy of a request writes is what stood there.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { storeMisconfigured } from './errors.ts';
import type { CallOptions, PartLimits, RecordStore } from './ports.ts';
import type { InParts, Outcome, Owner, RecordId, Whole } from './record.ts';

export interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Requests under way for one outcome. */
const AT_ONCE = 4;

/** undefined: it goes into the record as it is, or is too large for parts too. */
export function inParts(outcome: Whole, owner: Owner, limits: RecordStore['limits']): { outcome: InParts; parts: readonly Part[] } | undefined {
  if (limits.parts === undefined || outcome.kind === 'not-stored') return undefined;
  const bytes = toBytes(outcome, limits.inlineBytes);
  if (bytes === undefined || bytes.length > limits.parts.bytesEach * limits.parts.most) return undefined;
  const count = Math.ceil(bytes.length / limits.parts.bytesEach);
  const mark = 'resolved' in outcome ? { resolved: true as const } : {};
  const named: InParts = { kind: 'parts', of: outcome.kind, owner, hash: hashOf(bytes), bytes: bytes.length, count, ...mark };
  return { outcome: named, parts: partNames(named).map((name, n) => ({ name, bytes: piece(bytes, n, limits.parts as PartLimits) })) };
}

const piece = (bytes: Buffer, n: number, { bytesEach }: PartLimits): Uint8Array => bytes.subarray(n * bytesEach, (n + 1) * bytesEach);
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url');

/** Where the parts of an outcome are; none for one that is all there. */
export const partNames = (outcome: Outcome | undefined): string[] =>
  outcome?.kind === 'parts' ? Array.from({ length: outcome.count }, (_, n) => `${outcome.owner}.${outcome.hash}.${n}`) : [];

/** Whether this outcome names that part. */
export const namesPart = (outcome: Outcome | undefined, name: string): boolean => partNames(outcome).includes(name);
/** Whose attempt wrote it. */
export const ownerOfPart = (name: string): Owner => name.slice(0, name.indexOf('.'));

/** What is compressed is kept as the bytes that it is, a quarter less than their base64. undefined: small enough for the record. */
function toBytes(outcome: Exclude<Whole, { kind: 'not-stored' }>, inlineBytes: number): Buffer | undefined {
  const text = JSON.stringify(outcome);
  if (Buffer.byteLength(text) <= inlineBytes) return undefined;
  return outcome.kind === 'packed' ? Buffer.from(outcome.packed, 'base64') : Buffer.from(text);
}

/** For a store without parts, and whoever reads a record that such a store keeps. */
export function mustBeWhole(outcome: Outcome): Whole {
  if (outcome.kind === 'parts') throw storeMisconfigured('a record names parts, and this store has none.');
  return outcome;
}

/** @throws what `put` throws. */
export async function putParts(parts: readonly Part[], put: (part: Part) => Promise<void>): Promise<void> {
  await inTurn(parts, put);
}

/**
 * The outcome with what lies beside the record. `call` bounds each request.
 *
 * @throws RerunSafeError `STORE_UNAVAILABLE`; `STORE_MISCONFIGURED`: a part is missing or was changed. Nothing was run.
 */
export async function takeParts(
  store: RecordStore,
  id: RecordId,
  outcome: Outcome,
  call: <R>(request: (options: CallOptions) => Promise<R>) => Promise<R>,
): Promise<Whole> {
  if (outcome.kind !== 'parts') return outcome;
  const pieces = await inTurn(partNames(outcome), (name) => call(async (options) => store.readPart?.(id, name, options)));
  const found = pieces.filter((bytes) => bytes !== undefined);
  const bytes = Buffer.concat(found);
  if (found.length < outcome.count || hashOf(bytes) !== outcome.hash) {
    throw storeMisconfigured(`a part of the outcome of ${id} is missing or was changed (${found.length} of ${outcome.count} are there)`, undefined);
  }
  if (outcome.of !== 'packed') return JSON.parse(bytes.toString('utf8')) as Whole;
  return { kind: 'packed', packed: bytes.toString('base64'), ...(outcome.resolved ? { resolved: true } : {}) };
}

/** In order, a few at a time. The first failure ends it when those under way have settled: none goes on behind the caller's back. */
async function inTurn<A, B>(items: readonly A[], ask: (item: A) => Promise<B>): Promise<B[]> {
  const answers: B[] = [];
  for (let n = 0; n < items.length; n += AT_ONCE) {
    const settled = await Promise.allSettled(items.slice(n, n + AT_ONCE).map(ask));
    for (const result of settled) {
      if (result.status === 'rejected') throw result.reason;
      answers.push(result.value);
    }
  }
  return answers;
}

/** Of the form that {@link partNames} gives: a store's table may hold other things. */
export const isPartName = (name: string): boolean => /^[\w-]{20,}\.[\w-]{43}\.\d{1,4}$/.test(name);
