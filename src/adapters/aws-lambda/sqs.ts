/**
 * SQS: every message once, and only what was not done comes back.
 *
 * @module
 */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { isRerunSafeError, RerunSafeError } from '../../core/errors.ts';
import type { Call } from '../../core/guard.ts';
import { isFunction, isInteger, type Rules } from '../../core/options.ts';
import type { Run } from '../../core/run.ts';
import { runGuarded, unwrap } from '../../core/run-once.ts';
import { named } from '../named.ts';
import { callFrom, type Keyed, type KeyedOptions, keyedFrom } from './guard-lambda.ts';
import { type Invocation, inInvocation } from './invocation.ts';
import { type Item, itemsOf } from './sqs-items.ts';
import { runLanes } from './sqs-lanes.ts';

export interface EachOptions extends KeyedOptions<SQSRecord, undefined> {
  /**
   * How many records are worked on at once. Records of one FIFO group, and records with the same key, always go one after another, in order.
   * Default 8.
   */
  readonly concurrency?: number;
  /**
   * Told of every record that is reported as failed after it was tried, and why (a replayed `PermanentError` and `IN_FLIGHT` too). Default:
   * `console.error` with the message id, without the key, and the error.
   */
  readonly onItemFailed?: (error: unknown, record: SQSRecord, context: Context) => unknown;
}

const OWN_RULES: Rules = { concurrency: isInteger(1, 10_000), onItemFailed: isFunction };
const DEFAULT_CONCURRENCY = 8;
const BATCH_MARGIN_MS = 1_000;
/** Longer than a message usually stays in its queue (4 d; up to 14 d can be set, and a dead-letter queue adds its own). */
const QUEUE_RETENTION_MS = 604_800_000;

/**
 * Guards a consumer of an SQS queue, record by record. Needs `ReportBatchItemFailures` on the event source mapping: without it SQS takes any answer
 * for success.
 *
 * - Done, now or earlier: acknowledged. Records are remembered for 7 d (`retentionMs`).
 * - Failed, or the same key is still being worked on elsewhere: reported in `batchItemFailures`, so that it comes back. A duplicate is never
 *   acknowledged while the first is still running.
 * - FIFO: after a failure everything later in the same group is reported without being tried; other groups go on.
 * - Near the time limit (`deadlineMarginMs`, default 1,000) no further record is begun; the rest is reported.
 * - A `PermanentError` is remembered: the handler does not run again, and the record is reported each time until the queue's `maxReceiveCount`
 *   brings it into the dead-letter queue.
 *
 * What the handler returns is not kept.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: for an event that does not come from SQS, or a failed record without a message
 * id; the whole batch then comes back, and what was done is not done again.
 * @example
 * export const consume = idempotentEach(
 *   { store, operation: 'orders/take', key: (record) => JSON.parse(record.body).orderId },
 *   async (record, context, run) => takeOrder(JSON.parse(record.body), run.keyFor('order')),
 * );
 */
export function idempotentEach(
  options: EachOptions,
  handler: (record: SQSRecord, context: Context, run: Run<undefined>) => unknown,
): (event: SQSEvent, context: Context) => Promise<SQSBatchResponse> {
  const keyed = keyedFrom<SQSRecord, undefined>('idempotentEach', options, QUEUE_RETENTION_MS, OWN_RULES);
  const { concurrency = DEFAULT_CONCURRENCY, deadlineMarginMs = BATCH_MARGIN_MS, onItemFailed } = options;
  const tellFailed = onItemFailed ?? ((error, record) => console.error(lineOf(options.operation, record), error));

  return named(handler, (event: SQSEvent, context: Context) =>
    inInvocation(event, context, deadlineMarginMs, async (invocation) => {
      const items = await itemsOf(event, (record) => callFrom(keyed, record, context, invocation));
      const begin = async (item: Item): Promise<'done' | 'failed'> => {
        try {
          if ('error' in item) throw item.error;
          await workOn(keyed, item.call, invocation, (run) => handler(item.record, context, run));
          return 'done';
        } catch (error) {
          await tellSafely(() => tellFailed(error, item.record, context));
          return 'failed';
        }
      };
      const undone = await runLanes(items, { concurrency, mayBegin: () => invocation.remainingMs() > 0, begin });
      if (undone.untried > 0 && onItemFailed === undefined) {
        console.warn(`${options.operation}: ${undone.untried} of ${items.length} messages were not begun and are reported as failed.`);
      }
      return { batchItemFailures: undone.items.map(({ record }) => ({ itemIdentifier: identifierOf(record) })) };
    }),
  );
}

/** Resolves when the record's work is done, now or earlier. */
async function workOn(
  { options, guard }: Keyed<SQSRecord, undefined>,
  call: Call,
  invocation: Invocation,
  handle: (run: Run<undefined>) => unknown,
): Promise<void> {
  let began = false;
  // Taken anew for each record: an earlier one of the batch has used up time.
  const leaseMs = options.leaseMs === undefined ? invocation.leaseMs() : undefined;
  try {
    const result = await runGuarded(guard, { ...call, leaseMs }, async (run) => {
      began = true;
      await handle(run);
      // Nobody reads it on a replay, and a value that cannot be kept would turn a finished duplicate into a failure.
      return undefined;
    });
    unwrap(guard, result);
  } catch (error) {
    // Done earlier, with a value (of `run.commit`) that could not be kept.
    if (began || !isRerunSafeError(error, 'RESULT_NOT_STORED')) throw error;
  }
}

/** An empty identifier makes SQS take the whole batch for failed without a word; say it. */
function identifierOf({ messageId }: SQSRecord): string {
  if (typeof messageId === 'string' && messageId !== '') return messageId;
  throw new RerunSafeError('INVALID_OPTIONS', 'idempotentEach: a failed record has no messageId, so the whole batch has to come back.');
}

function lineOf(operation: string, { messageId }: SQSRecord): string {
  return `${operation}: message ${messageId} failed and is reported to the queue:`;
}

/** A hook that fails must not turn records that are done into failures. */
async function tellSafely(tell: () => unknown): Promise<void> {
  try {
    await tell();
  } catch (error) {
    console.error('onItemFailed threw:', error);
  }
}
