/**
 * Messages that are to leave if, and only if, the run's outcome is committed: collected here, written by the commit, sent by a relay.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { derivedKey } from './key.ts';
import { anything, checkOptions, invalidOptions, isName } from './options.ts';
import type { RecordId } from './record.ts';

export interface OutboxMessage {
  /** What it is about: `orders/placed`. */
  readonly topic: string;
  /** Plain JSON: strings, finite numbers, booleans, null, arrays, objects. It goes to others. */
  readonly payload: unknown;
  /** Messages of one key keep their order. Default: no order. */
  readonly key?: string;
  /** Makes the message's id, instead of its place among the run's messages: for work whose attempts do not send the same ones in the same order. */
  readonly name?: string;
}

/** A message that has yet to be written. */
export interface PendingMessage {
  /** Derived from the record: the same in every attempt. 43 characters of `[A-Za-z0-9_-]`. */
  readonly id: string;
  readonly topic: string;
  readonly key: string | undefined;
  readonly payload: unknown;
  /** Its place among the messages of its run, from 0. */
  readonly position: number;
}

export interface Outbox {
  /**
   * Takes a message; it is written with the outcome, in one transaction (`runInTransaction`, `commitWith`), and sent afterwards. Returns its id, by
   * which the receiver knows a second delivery.
   *
   * @throws RerunSafeError `INVALID_OPTIONS` for a message that is not well formed or was added before; `DUPLICATE_STEP` after the commit.
   */
  add(message: OutboxMessage): string;
}

export interface Collected extends Outbox {
  readonly pending: readonly PendingMessage[];
}

const RULES = { topic: isName(200), payload: anything, key: isName(200), name: isName(200) };

/** `mayAdd` throws where it is too late. */
export function collectMessages(record: RecordId, mayAdd: () => void = () => {}): Collected {
  const pending: PendingMessage[] = [];
  return {
    pending,
    add(message) {
      mayAdd();
      checkOptions('outbox.add', message, RULES, ['topic', 'payload']);
      const { topic, key, name } = message;
      const position = pending.length;
      // A name is never taken for a position.
      const id = derivedKey(record, name === undefined ? `outbox#${position}` : `outbox/${name}`);
      if (pending.some((other) => other.id === id)) throw invalidOptions('outbox.add', [`the name "${name}" was used before in this run`]);
      pending.push({ id, topic, key, payload: plainCopy(message.payload), position });
      return id;
    },
  };
}

/** What the work does to the payload afterwards changes nothing. */
function plainCopy(payload: unknown): unknown {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(payload));
    if (isDeepStrictEqual(copy, payload)) return copy;
  } catch {}
  throw invalidOptions('outbox.add', ['the payload must be plain JSON: it would not arrive as it is']);
}
