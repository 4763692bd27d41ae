/**
 * Batches: every record once, and only what was not done comes back.
 *
 * @module
 */
import type { Context, SQSRecord } from 'aws-lambda';
import { isRerunSafeError, otherWrapper } from '../../../core/errors.ts';
import type { Call } from '../../../core/guard.ts';
import { keyParts, recordId, scopeParts } from '../../../core/key.ts';
import { isFunction, isInteger, type Rules } from '../../../core/options.ts';
import type { Run } from '../../../core/run.ts';
import { unwrap } from '../../../core/run-once.ts';
import { unlessAborted } from '../../../core/system.ts';
import { named } from '../../named.ts';
import { callFrom, type Keyed, type KeyedOptions, keyedFrom, runInTime } from '../guard-lambda.ts';
import { type Invocation, inHalfTheTime, inInvocation } from '../invocation.ts';
import type { BatchAnswer, BatchEvent, BatchRecord } from './events.ts';
import { type Item, itemsOf } from './items.ts';
import { type Ran, runItems } from './run-items.ts';
import { type Place, refused, type Source } from './sources/source.ts';
import { sourceOf } from './sources/source-of.ts';

export interface EachOptions<R extends BatchRecord = SQSRecord> extends KeyedOptions<R, undefined> {
  /**
   * How many records are worked on at once, as far as their order allows. Records with the same key, of one FIFO group or of one Kafka partition always
   * go one after another. Default 8; of a Kinesis or DynamoDB stream 1: the order of the batch. More keeps the order of each partition key, or of each
   * item of the table.
   */
  readonly concurrency?: number;
  /**
   * Told of every record that was tried in vain, and why (a replayed `PermanentError` and `IN_FLIGHT` too). Default: `console.error` with the record's
   * id, without the key, and the error.
   */
  readonly onItemFailed?: (error: unknown, record: R, context: Context) => unknown;
}

const OWN_RULES: Rules = { concurrency: isInteger(1, 10_000), onItemFailed: isFunction };
const BATCH_MARGIN_MS = 1_000;
/** Longer than a message usually stays in its queue (4 d; up to 14 d can be set, and a dead-letter queue adds its own). */
const BATCH_RETENTION_MS = 604_800_000;

/**
 * Guards a consumer of a queue or stream, record by record: SQS, Kinesis, DynamoDB streams, Kafka (MSK and self-managed), Amazon MQ. The type of the
 * record comes from `key`: `(record: KinesisStreamRecord) => …`, or one of `keys`; without either it is that of SQS.
 *
 * Done, now or earlier, is acknowledged. Failed, or still being worked on elsewhere, comes back; a duplicate is never acknowledged while the first is
 * still running. Near the time limit (`deadlineMarginMs`, default 1,000) no further record is begun, and the rest comes back. Records are remembered
 * for 7 d (`retentionMs`). What the handler returns is not kept.
 *
 * All but Amazon MQ need `ReportBatchItemFailures` on the event source mapping: without it any answer counts for success.
 *
 * - **SQS**: each message that was not done is reported. FIFO: after a failure everything later in the same group is reported without being tried;
 *   other groups go on. What is reported untried was received too, and may reach `maxReceiveCount` together with what it waits for.
 * - **Kinesis, DynamoDB streams**: the first record that was not done is reported; Lambda delivers everything from there again, and what was done
 *   behind it costs one read. After a failure nothing later is tried; with `concurrency` over 1, nothing later of the same partition key or item.
 * - **Kafka** (provisioned mode): after a failure everything later in the same partition is reported without being tried; other partitions go on.
 * - **Amazon MQ**: no partial answers exist. All messages are tried, and one `ItemsFailedError` at the end brings the whole batch back; what was done
 *   costs one read.
 *
 * A `PermanentError` is remembered: the handler does not run again, and the record comes back each time, until a queue's `maxReceiveCount` brings it
 * into the dead-letter queue. A stream or partition stands still meanwhile. By default Lambda tries until the record expires: set
 * `MaximumRetryAttempts`, an on-failure destination, and (Kinesis, DynamoDB) `BisectBatchOnFunctionError`, since otherwise the records behind it in the
 * batch are discarded with it. In Amazon MQ it comes back until it expires: catch there what no retry can help.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: for an event that is no batch, belongs to a tumbling window, or has a failed
 * record without an identifier; the whole batch then comes back, and what was done is not done again.
 * @throws ItemsFailedError for Amazon MQ.
 * @example
 * export const consume = idempotentEach(
 *   { store, operation: 'orders/take', key: (record) => JSON.parse(record.body).orderId },
 *   async (record, context, run) => takeOrder(JSON.parse(record.body), run.keyFor('order')),
 * );
 * @example
 * export const project = idempotentEach({ store, operation: 'orders/project', key: keys.dynamodbStreamEvent }, async (record) => {
 *   await projectOrder(record.dynamodb?.NewImage);
 * });
 */
export function idempotentEach<R extends BatchRecord = SQSRecord>(
  options: EachOptions<R>,
  handler: (record: R, context: Context, run: Run<undefined>) => unknown,
): (event: BatchEvent<R>, context: Context) => Promise<BatchAnswer<R>> {
  const keyed = keyedFrom<R, undefined>('idempotentEach', options, BATCH_RETENTION_MS, OWN_RULES);
  const { operation, deadlineMarginMs = BATCH_MARGIN_MS, onItemFailed } = options;

  return named(handler, (event: BatchEvent<R>, context: Context) =>
    inInvocation(event, context, deadlineMarginMs, async (invocation) => {
      const source = sourceOf(event) as Source<R>;
      const { concurrency = source.concurrency } = options;
      const places = placesOf(source, event, concurrency);
      const tellFailed = async (error: unknown, item: Item<R>): Promise<void> => {
        if (onItemFailed === undefined) console.error(lineOf(operation, source, item), error);
        else await tellSafely(async () => onItemFailed(error, item.record, context), invocation.signal);
      };
      const begin = async (item: Item<R>): Promise<{ error: unknown } | undefined> => {
        try {
          if (item.key === undefined) throw item.error;
          await workOn(keyed, item.call, invocation, (run) => handler(item.record, context, run));
          return undefined;
        } catch (error) {
          await tellFailed(error, item);
          return { error };
        }
      };
      const items = await inHalfTheTime(invocation, (signal) =>
        itemsOf(operation, places, (record) => callFrom(keyed, record, context, invocation, signal)),
      );
      const ran = await runItems(items, { concurrency, mayBegin: () => invocation.remainingMs() > 0, begin });
      if (ran.untried.length > 0 && onItemFailed === undefined) {
        console.warn(`${operation}: ${ran.untried.length} of ${items.length} ${source.what}s were not begun and are reported as failed.`);
      }
      return source.answer({ operation, places, ...ran, undone: undoneOf(places, ran) }) as BatchAnswer<R>;
    }),
  );
}

function placesOf<R>(source: Source<R>, event: unknown, concurrency: number): readonly Place<R>[] {
  const places = source.placesOf(event, concurrency);
  if (places === undefined) throw refused(`the event is no batch of ${source.what}s, though it says so. Nothing was run.`);
  return places;
}

function undoneOf<R>(places: readonly Place<R>[], { failures, untried }: Ran): Place<R>[] {
  const undone = new Set([...failures.map(({ index }) => index), ...untried]);
  return places.filter((_, index) => undone.has(index));
}

/** Resolves when the record's work is done, now or earlier. */
async function workOn<R>(
  { options, guard }: Keyed<R, undefined>,
  call: Call,
  invocation: Invocation,
  handle: (run: Run<undefined>) => unknown,
): Promise<void> {
  let began = false;
  // Taken anew for each record: an earlier one of the batch has used up time.
  const leaseMs = options.leaseMs === undefined ? invocation.leaseMs() : undefined;
  try {
    const result = await runInTime(guard, { ...call, leaseMs }, invocation, async (run) => {
      began = true;
      await handle(run);
      // Nobody reads it on a replay, and a value that cannot be kept would turn a finished duplicate into a failure.
      return undefined;
    });
    const value: unknown = unwrap(guard, result);
    // No record of this wrapper has a value: another one has the same operation, and what it did is not what this one does.
    if (value !== undefined && !began && !('resolved' in result)) throw otherWrapper(guard.operation);
  } catch (error) {
    // Done earlier, with a value (of `run.commit`) that could not be kept. Of this record: `onUnknown` may have asked for another one.
    const own = isRerunSafeError(error, 'RESULT_NOT_STORED') && error.facts.id === idOf(guard.operation, call);
    if (began || !own) throw error;
  }
}

const idOf = (operation: string, { scope, key }: Call): string => recordId(operation, scopeParts(scope, operation), keyParts(key, operation));

function lineOf<R>(operation: string, source: Source<R>, { name }: Place<R>): string {
  return `${operation}: ${source.what} ${name} failed and is reported to ${source.reportedTo}:`;
}

/** A hook that fails, or never ends, must not turn records that are done into failures. */
async function tellSafely(tell: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await unlessAborted(tell(), signal);
  } catch (error) {
    console.error('onItemFailed threw:', error);
  }
}
