/**
 * The record: what a store keeps for one (operation, scope, key), and how it lies in a row.
 *
 * @module
 */
import { recordTooNew, storeMisconfigured } from './errors.ts';

/** The address of a record: a hash of operation, scope and key. 46 characters of `[A-Za-z0-9_-]`, safe in every store. */
export type RecordId = string & { readonly __recordId?: never };
/** A random nonce, new for each attempt. */
export type Owner = string;
/** Opaque; two different states of a row never share one, not even after the row was deleted. */
export type Version = string & { readonly __version?: never };

/** `failed`: the work has failed, and was judged so. `step-not-stored`: a step is done and its value could not be kept, so that no attempt gets past it. */
export type BlockedWhy = 'unknown' | 'attempts' | 'failed' | 'step-not-stored';
export type State = 'running' | 'completed' | 'released' | 'blocked';

/** A value after the codec: plain JSON. */
export type Encoded = unknown;

/** `not-taken`: the store took the record, and not the parts of its outcome. */
export type NotKept = 'too-large' | 'not-serializable' | 'not-taken';

export type Outcome =
  /** `resolved`: a person's word, not what the work returned. */
  | { readonly kind: 'value'; readonly value: Encoded; readonly resolved?: true }
  | {
      readonly kind: 'error';
      readonly error: { readonly name: string; readonly message: string; readonly code?: string | number; readonly data?: Encoded };
    }
  /** One of the others, sealed by the user's key. */
  | { readonly kind: 'sealed'; readonly sealed: string; readonly resolved?: true }
  /** One of the first two, as base64 of its JSON after raw DEFLATE (RFC 1951). */
  | { readonly kind: 'packed'; readonly packed: string; readonly resolved?: true }
  /** One of the four, in parts beside the record, written by that owner. `hash`: SHA-256 of all its bytes, base64url. */
  | {
      readonly kind: 'parts';
      readonly of: 'value' | 'error' | 'sealed' | 'packed';
      readonly owner: Owner;
      readonly hash: string;
      readonly bytes: number;
      readonly count: number;
      readonly resolved?: true;
    }
  /** The work succeeded, its value could not be kept. */
  | { readonly kind: 'not-stored'; readonly reason: NotKept };

export type InParts = Extract<Outcome, { kind: 'parts' }>;
/** An outcome that is all there. */
export type Whole = Exclude<Outcome, InParts>;

/** Its value, and the fingerprint of its declared input. */
export interface FinishedStep {
  readonly outcome: Extract<Outcome, { kind: 'value' | 'sealed' | 'packed' | 'not-stored' }>;
  readonly fingerprint?: string;
}

/** An at-most-once step that was about to start, in that attempt. */
export interface BegunStep {
  readonly begun: number;
  readonly fingerprint?: string;
}

export type StoredStep = FinishedStep | BegunStep;

export interface PersonsWord {
  readonly did: 'resolve' | 'forget';
  readonly by?: string;
  readonly why?: string;
  /** Epoch ms, by the clock of the store. */
  readonly atMs: number;
}

export const SCHEMA = 1;
/** A retention that never ends (lease rows). */
export const FOREVER_MS = Number.MAX_SAFE_INTEGER;

/** What core hands to a store. The store adds `writtenAtMs`, by its own clock where it has one. */
export interface RecordToWrite {
  readonly schema: number;
  readonly operation: string;
  /** Hash of the scope, for erasure; '' where there is none. */
  readonly scope: string;
  /** The key as people know it; absent when switched off. */
  readonly label?: string;
  readonly state: State;
  readonly owner: Owner;
  /** A nonce per write: what tells an own write from a stranger's. */
  readonly revision: string;
  /** The fencing token. On `create` and on claims a store with a clock of its own may raise it, and then returns it. */
  readonly token: number;
  readonly attempt: number;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly createdAtMs: number;
  readonly fingerprint?: string;
  readonly outcome?: Outcome;
  readonly steps?: Readonly<Record<string, StoredStep>>;
  /** Blocked records: why. `unknown`: an attempt ended with no outcome; `attempts`: too many were made; `failed`: judged so. */
  readonly blockedWhy?: BlockedWhy;
  /** How the last attempt ended, for people only: what `onThrow` noted. */
  readonly note?: string;
  /** A person had the last word on it: who, why and when. */
  readonly word?: PersonsWord;
  /** Lease rows: the last slot that is known to be done, epoch ms. */
  readonly slot?: number;
  /** Host and invocation, for people only. */
  readonly holder?: string;
  /** What a later version put beside outcome and steps: passed on as it is, as long as the attempt lasts. */
  readonly beyond?: Readonly<Record<string, unknown>>;
}

export interface StoredRecord extends RecordToWrite {
  readonly writtenAtMs: number;
}

/** Completed and released records end by themselves; running and blocked ones never do. */
export const canExpire = (record: RecordToWrite): boolean =>
  (record.state === 'completed' || record.state === 'released') && record.retentionMs < FOREVER_MS;

/** Older than its retention, as good as absent. `uncertaintyMs`: how far two callers' clocks may differ. */
export const isExpired = (record: RecordToWrite, ageMs: number, uncertaintyMs: number): boolean =>
  canExpire(record) && ageMs > record.retentionMs + uncertaintyMs;

/** Running, and older than its lease: the outcome is unknown. A lease of 0 ms was written to say so at once. */
export const isLapsed = (record: RecordToWrite, ageMs: number, uncertaintyMs: number): boolean =>
  record.state === 'running' && (record.leaseMs === 0 || ageMs > record.leaseMs + uncertaintyMs);

/** Row columns every store keeps apart, because operators' queries and fenced writes need them. */
export interface Row {
  schema: number;
  operation: string;
  scope: string;
  state: State;
  owner: string;
  revision: string;
  token: number;
  attempt: number;
  leaseMs: number;
  retentionMs: number;
  writtenAtMs: number;
  createdAtMs: number;
  label?: string;
  fingerprint?: string;
  holder?: string;
  slot?: number;
  /** JSON of outcome, steps, why it is blocked, a note, and a person's word. Absent when there is none of them. */
  body?: string;
}

/** The names and types of the columns, for stores that declare them. */
export const COLUMNS: Readonly<Record<keyof Row, 'string' | 'number'>> = {
  schema: 'number',
  operation: 'string',
  scope: 'string',
  state: 'string',
  owner: 'string',
  revision: 'string',
  token: 'number',
  attempt: 'number',
  leaseMs: 'number',
  retentionMs: 'number',
  writtenAtMs: 'number',
  createdAtMs: 'number',
  label: 'string',
  fingerprint: 'string',
  holder: 'string',
  slot: 'number',
  body: 'string',
};

const OPTIONAL: ReadonlySet<string> = new Set(['label', 'fingerprint', 'holder', 'slot', 'body']);
const TYPES = Object.entries(COLUMNS).filter(([name]) => name !== 'body');
const NAMES = TYPES.map(([name]) => name) as Exclude<keyof Row, 'body'>[];
const STATES: ReadonlySet<string> = new Set(['running', 'completed', 'released', 'blocked']);

export function toRow(record: StoredRecord): Row {
  const row: Record<string, unknown> = {};
  for (const name of NAMES) if (record[name] !== undefined) row[name] = record[name];
  const { outcome, steps, blockedWhy, note, word, beyond } = record;
  if ((outcome ?? steps ?? blockedWhy ?? note ?? word ?? beyond) !== undefined) {
    const body = JSON.stringify({ ...beyond, outcome, steps, blockedWhy, note, word });
    if (body !== '{}') row.body = body;
  }
  return row as unknown as Row;
}

/**
 * Reads a row back. Columns it does not know are left alone.
 *
 * @throws RerunSafeError `RECORD_TOO_NEW` for a later schema, `STORE_MISCONFIGURED` for a row that is not a record.
 */
export function fromRow(given: Readonly<Row> | Readonly<Record<string, unknown>>): StoredRecord {
  const row = given as Readonly<Record<string, unknown>>;
  const { schema } = row;
  if (typeof schema === 'number' && schema > SCHEMA) throw recordTooNew(`has schema ${schema}; this version knows ${SCHEMA}`, { schema });
  const columns: Record<string, unknown> = {};
  for (const [name, type] of TYPES) {
    const value = row[name];
    if (value === undefined && OPTIONAL.has(name)) continue;
    if (typeof value !== type) throw storeMisconfigured(`a row is not a record of rerunsafe (column ${name} is ${typeof value}).`);
    columns[name] = value;
  }
  if (schema !== SCHEMA || !STATES.has(String(columns.state))) throw storeMisconfigured('a row is not a record of rerunsafe.');
  const { body } = row;
  return (body === undefined ? columns : Object.assign(columns, parseBody(body))) as unknown as StoredRecord;
}

type Body = Pick<StoredRecord, 'outcome' | 'steps' | 'blockedWhy' | 'note' | 'word' | 'beyond'>;

const BODY: ReadonlySet<string> = new Set<keyof Body>(['outcome', 'steps', 'blockedWhy', 'note', 'word']);

function parseBody(text: unknown): Body {
  if (typeof text !== 'string') throw storeMisconfigured(`a row is not a record of rerunsafe (column body is ${typeof text}).`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw storeMisconfigured('the body of a record is not JSON.', cause);
  }
  if (typeof body !== 'object' || body === null) throw storeMisconfigured('the body of a record is not an object.');
  const fields = Object.entries(body);
  if (fields.every(([name]) => BODY.has(name))) return body;
  const own = Object.fromEntries(fields.filter(([name]) => BODY.has(name)));
  return { ...own, beyond: Object.fromEntries(fields.filter(([name]) => !BODY.has(name))) };
}
