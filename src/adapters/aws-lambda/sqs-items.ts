/**
 * The records of a batch, each with its key, in lanes: what shares a lane goes one after another.
 *
 * @module
 */
import type { SQSRecord } from 'aws-lambda';
import { RerunSafeError } from '../../core/errors.ts';
import type { Call } from '../../core/guard.ts';
import { hashParts, keyParts, scopeParts } from '../../core/key.ts';

/** `error`: its key could not be taken; this record fails, the others go on. */
export type Item = {
  readonly record: SQSRecord;
  readonly lane: string;
  /** After a failure the rest of the lane is not tried: order was promised. */
  readonly ordered: boolean;
} & ({ readonly call: Call } | { readonly error: unknown });

/** @throws RerunSafeError `INVALID_OPTIONS` for anything but records of SQS: an empty answer would acknowledge what nobody has looked at. */
export async function itemsOf(event: unknown, callOf: (record: SQSRecord) => Promise<Call>): Promise<Item[]> {
  const records = (event as { readonly Records?: unknown } | null | undefined)?.Records;
  if (!Array.isArray(records) || records.some((record: SQSRecord | undefined) => record?.eventSource !== 'aws:sqs')) {
    throw new RerunSafeError(
      'INVALID_OPTIONS',
      'idempotentEach: the event does not come from SQS. Nothing was run; use idempotent for other events.',
    );
  }
  return Promise.all(records.map((record: SQSRecord, index) => itemOf(record, index, callOf)));
}

async function itemOf(record: SQSRecord, index: number, callOf: (record: SQSRecord) => Promise<Call>): Promise<Item> {
  const group = fifoGroup(record);
  const ordered = group !== undefined;
  try {
    const call = await callOf(record);
    const key = hashParts('key', scopeParts(call.scope), keyParts(call.key));
    return { record, call, ordered, lane: ordered ? hashParts('group', group) : key };
  } catch (error) {
    return { record, error, ordered, lane: ordered ? hashParts('group', group) : `record ${index}` };
  }
}

/** Standard queues may carry group ids too (fair queues), and promise no order; only a FIFO queue's name ends in `.fifo`. */
function fifoGroup({ eventSourceARN, attributes }: SQSRecord): string | undefined {
  return eventSourceARN?.endsWith('.fifo') === true ? (attributes?.MessageGroupId ?? '') : undefined;
}
