/**
 * An outbox in a PostgreSQL table, beside the business rows.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';
import { checkFence } from '../../core/fence.ts';
import { checkOptions, has, invalidOptions, isInteger, isName } from '../../core/options.ts';
import type { CallOptions, Fence } from '../../core/ports.ts';
import type { OutboxPlace, ParkedMessage, Settlement, WaitingMessage } from '../../outbox/port.ts';
import { type Answer, connect } from './connection.ts';
import { mapError } from './map-error.ts';
import { DEFAULT_OUTBOX_TABLE, OUTBOX_RULES, outboxDdl, outboxSql } from './outbox-table.ts';
import type { PoolLike } from './query.ts';
import { givenPool } from './source.ts';
import { inTransaction } from './transaction.ts';

export interface PostgresOutboxOptions {
  /** A `Pool` of `pg`; it stays yours to end. Each call takes one connection, for one statement. */
  readonly pool: PoolLike;
  /** Default: the first of the search path that has the table. */
  readonly schema?: string;
  /** As `postgresStore` and `runInTransaction` have it. Default `rerunsafe_outbox`. */
  readonly outboxTable?: string;
  /** The longest one call may take, the wait for a connection included, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

type Row = Readonly<Record<string, unknown>>;

const PAGE = 100;
const SET_UP_LOCK_MS = 60_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 5_000;

/**
 * Where `runInTransaction` and `commitWith` keep the messages of `run.outbox.add` for {@link relayOutbox}. Of one key, messages go in the order in which
 * their transactions committed.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options.
 *
 * @example
 * const outbox = postgresOutbox({ pool });
 * await relayLoop({ outbox, leases: storeLeases(postgresStore({ pool })), deliver: (message) => bus.send(message), signal });
 */
export function postgresOutbox(options: PostgresOutboxOptions): OutboxPlace {
  checkOptions('postgresOutbox', options, { pool: has('query', 'connect'), ...OUTBOX_RULES, requestTimeoutMs: isInteger(1) }, ['pool']);
  const { pool, outboxTable = DEFAULT_OUTBOX_TABLE, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const sql = outboxSql(options);
  const connection = connect(givenPool(pool), requestTimeoutMs, false);
  const send = (what: string, writes: boolean, text: string, values: unknown[], given?: CallOptions): Promise<Answer> =>
    connection.call(given, (ask) => ask({ what: `${what} of the outbox ${outboxTable}`, text, values, writes }));

  return {
    name: `postgres/${outboxTable}`,
    async enter(relay, given) {
      checkFence(relay);
      const { rows } = await send('entering', true, sql.enter, [relay.token, relay.owner], given);
      if (rows.length === 0) throw overtaken(relay, undefined);
    },
    async take({ limit, holdParked }, given) {
      const { rows } = await send('taking', false, holdParked ? sql.takeHolding : sql.take, [limit], given);
      return { messages: deliverable(rows) };
    },
    async settle(relay, settlements, given) {
      const [row] = (await send('marking', true, sql.settle, [relay.token, relay.owner, ...valuesOf(settlements)], given)).rows;
      if (row?.held !== 1) throw overtaken(relay, Number(row?.token));
    },
    async waiting(given) {
      const { rows } = await send('counting', false, sql.waiting, [], given);
      return Number(rows[0]?.count);
    },
    async *listParked() {
      let after = '-1';
      for (;;) {
        const { rows } = await send('listing', false, sql.parked, [after, PAGE]);
        for (const row of rows) yield parkedMessage(row);
        if (rows.length < PAGE) return;
        after = String(rows.at(-1)?.position);
      }
    },
    unpark: async (id) => (await send('unparking', true, sql.unpark, [mustBeId(id)])).rowCount === 1,
    dropParked: async (id) => (await send('dropping', true, sql.dropParked, [mustBeId(id)])).rowCount === 1,
    setUp: () => setUp(pool, options),
  };
}

/** Any number at once, and beside the set-up of a store. */
async function setUp(pool: PoolLike, options: PostgresOutboxOptions): Promise<void> {
  try {
    await inTransaction(pool, { isolation: 'read committed', lockTimeoutMs: SET_UP_LOCK_MS }, async (tx) => {
      await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('rerunsafe set-up of an outbox', 0))");
      await tx.query(outboxDdl(options));
    });
  } catch (error) {
    throw mapError(error, 'set-up of the outbox', false);
  }
}

/** A row that somebody else has locked at this moment comes without a topic. The rest of its key waits for it. */
export function deliverable(rows: readonly Row[]): WaitingMessage[] {
  const waitsFor = new Set<unknown>();
  return rows.flatMap((row) => {
    const { order_key: key } = row;
    if (row.topic === null && key !== null) waitsFor.add(key);
    if (row.topic === null || waitsFor.has(key)) return [];
    return [message(row)];
  });
}

const message = (row: Row): WaitingMessage => ({
  id: String(row.id),
  topic: String(row.topic),
  key: row.order_key === null ? undefined : String(row.order_key),
  payload: JSON.parse(String(row.payload)),
  attempts: Number(row.attempts),
  createdAtMs: Number(row.created_at_ms),
});

const parkedMessage = (row: Row): ParkedMessage => ({
  ...message(row),
  parkedAtMs: Number(row.parked_at_ms),
  lastError: String(row.last_error ?? ''),
});

function valuesOf(settlements: readonly Settlement[]): unknown[] {
  const delivered: string[] = [];
  const failed: { id: string; attempts: number; delayMs: number | null; error: string }[] = [];
  for (const { message, ending } of settlements) {
    if (ending.kind === 'delivered') delivered.push(message.id);
    else failed.push({ id: message.id, attempts: ending.attempts, delayMs: ending.kind === 'retry' ? ending.delayMs : null, error: ending.error });
  }
  return [
    delivered,
    failed.map(({ id }) => id),
    failed.map(({ attempts }) => attempts),
    failed.map(({ delayMs }) => delayMs),
    failed.map(({ error }) => error),
  ];
}

function mustBeId(id: unknown): unknown {
  const wrong = isName(1_024)(id);
  if (wrong !== undefined) throw invalidOptions('outbox', [`the id ${wrong}`]);
  return id;
}

function overtaken(relay: Fence, storedToken: number | undefined): RerunSafeError {
  const found = storedToken === undefined ? '' : `token ${storedToken} stands there, `;
  return new RerunSafeError(
    'STALE_TOKEN',
    `Another relay has entered the outbox (${found}ours is ${relay.token}). Nothing was written down: what was delivered comes again.`,
    { facts: { id: relay.id, token: relay.token, ...(storedToken === undefined ? {} : { storedToken }) } },
  );
}
