/**
 * A record store inside the process: for tests, for local work, and for guarding work that only one process can do twice.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { checkOptions, has, invalidOptions, isInteger } from '../../core/options.ts';
import type {
  CallOptions,
  Conflict,
  Listed,
  ListQuery,
  PlainStore,
  PurgeQuery,
  RecordStore,
  Stored,
  WriteResult,
  Written,
} from '../../core/ports.ts';
import { isOrphan, purgeListed, unlessTooNew } from '../../core/purge.ts';
import { fromRow, type RecordId, type RecordToWrite, type Row, toRow } from '../../core/record.ts';
import { isWanted } from '../../core/wanted.ts';

export interface MemoryStoreOptions {
  /** Stamps `writtenAtMs`. Default: the wall clock. A virtual clock in tests. */
  readonly clock?: { nowMs(): number };
  /** The largest record, as bytes of JSON. Default 1 MiB, so that local work meets a limit as it would in the cloud. */
  readonly maxRecordBytes?: number;
  /** An outcome whose JSON is larger lies beside its record, as in DynamoDB. Default: as `maxRecordBytes`, so there are no parts. */
  readonly inlineBytes?: number;
}

const DEFAULT_MAX_RECORD_BYTES = 1_048_576;
const MOST_PARTS = 16;

/** Has parts where `inlineBytes` was given. */
export type MemoryStore = PlainStore & Pick<RecordStore, 'putPart' | 'readPart'>;

/**
 * Keeps records in this process; they end with it. Each operation is atomic.
 *
 * It guards against nothing that happens in another process: on more than one instance use a shared store.
 *
 * @example
 * const store = memoryStore();
 * await runOnce({ store, operation: 'mail/welcome', key: userId }, () => sendWelcome(userId));
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, { clock: has('nowMs'), maxRecordBytes: isInteger(1_000), inlineBytes: isInteger(1) });
  const nowMs = (): number => (options.clock ?? WALL).nowMs();
  const { maxRecordBytes = DEFAULT_MAX_RECORD_BYTES, inlineBytes = maxRecordBytes } = options;
  const hasParts = options.inlineBytes !== undefined;
  if (inlineBytes > maxRecordBytes) throw invalidOptions('memoryStore', ['inlineBytes must not be more than maxRecordBytes']);
  // As rows, which hold nothing but texts and numbers: nobody has a reference into the store, and what comes back is what a row can carry.
  const rows = new Map<RecordId, Row>();

  const parts = new Map<RecordId, Map<string, { readonly bytes: Uint8Array; readonly putAtMs: number }>>();

  const standing = (id: RecordId): Stored | undefined => {
    const row = rows.get(id);
    if (row === undefined) return undefined;
    return { record: fromRow(row), version: row.revision, ageMs: Math.max(0, nowMs() - row.writtenAtMs) };
  };
  const refused = (id: RecordId): Conflict => ({
    ok: false,
    reason: 'conflict',
    current: standing(id),
  });
  const stands = (id: RecordId, version: string): boolean => rows.get(id)?.revision === version;

  const write = (id: RecordId, record: RecordToWrite): WriteResult => {
    const row = toRow({ ...record, writtenAtMs: nowMs() });
    if (isLarger(row, maxRecordBytes)) return { ok: false, reason: 'too-large' };
    rows.set(id, row);
    return { ok: true, version: record.revision };
  };
  const remove = (id: RecordId, version: string): Written | Conflict => {
    if (!stands(id, version)) return refused(id);
    rows.delete(id);
    return { ok: true, version };
  };

  async function* list(query: ListQuery): AsyncGenerator<Listed> {
    for (const id of [...rows.keys()]) {
      await turn();
      const found = standing(id);
      if (found !== undefined && isWanted(found, query)) yield { id, ...found };
    }
  }

  async function* purgeable({ operation }: PurgeQuery): AsyncGenerator<Listed> {
    for (const id of [...rows.keys()]) {
      for (const found of unlessTooNew(() => standing(id))) {
        if (found !== undefined && isWanted(found, operation === undefined ? {} : { operation })) yield { id, ...found };
      }
    }
  }

  const putPart: RecordStore['putPart'] = (id, name, bytes, call) =>
    atomically(call, () => {
      const beside = parts.get(id) ?? new Map();
      parts.set(id, beside.set(name, { bytes: bytes.slice(), putAtMs: nowMs() }));
    });
  const readPart: RecordStore['readPart'] = (id, name, call) => atomically(call, () => parts.get(id)?.get(name)?.bytes.slice());
  const removePart = (id: RecordId, name: string): void => {
    const beside = parts.get(id);
    beside?.delete(name);
    if (beside?.size === 0) parts.delete(id);
  };
  const removeOrphans = (): void => {
    for (const [id, beside] of parts)
      for (const [name, { putAtMs }] of beside) if (isOrphan(name, nowMs() - putAtMs, standing(id))) removePart(id, name);
  };

  return {
    name: 'memory',
    limits: { maxRecordBytes, inlineBytes, maxKeyBytes: 1024, ...(hasParts && { parts: { bytesEach: maxRecordBytes, most: MOST_PARTS } }) },
    clock: { source: 'store', uncertaintyMs: 0, nowMs },
    read: (id, call) => atomically(call, () => standing(id)),
    create: (id, record, call) => atomically(call, () => (rows.has(id) ? refused(id) : write(id, record))),
    replace: (id, record, version, call) => atomically(call, () => (stands(id, version) ? write(id, record) : refused(id))),
    delete: (id, version, call) => atomically(call, () => remove(id, version)),
    list,
    async purge(query) {
      const result = await purgeListed(
        purgeable(query),
        async (id, version) => remove(id, version),
        query,
        0,
        async (id, name) => removePart(id, name),
      );
      if (query.operation === undefined) removeOrphans();
      return result;
    },
    ...(hasParts && { putPart, readPart }),
    setUp: () => turn(),
    close: () => turn(),
  };
}

/** As other stores count: the body is a column, not a text within a text. */
const bytesOf = ({ body = '', ...columns }: Row): number => Buffer.byteLength(JSON.stringify(columns)) + Buffer.byteLength(body);

/** A character is at most 6 bytes of JSON, and names and numbers are few: only what may be too large is weighed. */
function isLarger(row: Row, maxRecordBytes: number): boolean {
  let characters = 200;
  for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length;
  return characters * 6 > maxRecordBytes && bytesOf(row) > maxRecordBytes;
}

const WALL = { nowMs: (): number => Date.now() };

/** Nothing answers in the same turn: code that works here must not depend on a store that answers at once. */
const turn = (): Promise<void> => Promise.resolve();

async function atomically<T>(call: CallOptions | undefined, operation: () => T): Promise<T> {
  await turn();
  if (call?.signal?.aborted === true) throw storeUnavailable('aborted before it was sent', call.signal.reason);
  return operation();
}
