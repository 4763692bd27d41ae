/**
 * How messages lie in the outbox's table (partition key `pk`, sort key `sk`, both strings), so that what waits is read in order by consistent queries,
 * without a scan and without an index.
 *
 * | pk | sk | what |
 * |---|---|---|
 * | `waiting/<shard>` | `k/<hash of key>/<stamp>/m` | the messages of one run and key: they appear at once, which several items of a transaction need not |
 * | `waiting/<shard>` | `k/<hash of key>/<stamp>/a<n>` | one that was parked and is to go again: before the rest of its run |
 * | `waiting/<shard>` | `u/<stamp>/<id>` | a message without a key |
 * | `key/<hash of key>` | `head` | the last stamp of the key |
 * | `parked` | the message's id | kept for people |
 * | `relay` | `relay` | the relay that entered last |
 *
 * @module
 */
import { createHash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { storeMisconfigured } from '../../core/errors.ts';
import type { Item } from './item.ts';

/** A partition takes about 1,000 writes a second; writers and relays must agree on how many there are. */
export const SHARDS = 4;
export const PARKED = 'parked';
export const RELAY = { pk: { S: 'relay' }, sk: { S: 'relay' } };
export const TTL_ATTRIBUTE = 'expiresAtS';

const STAMP_DIGITS = 15;
const INDEX_DIGITS = 4;

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Of one key's hash, or of the id of a message without a key. */
export const shardOf = (hash: string): string => `waiting/${Number.parseInt(hash.slice(0, 8), 16) % SHARDS}`;

export const stampText = (stamp: number): string => String(stamp).padStart(STAMP_DIGITS, '0');

export const keyPrefix = (hash: string): string => `k/${hash}/`;
/** Behind all that is waiting of the key that `sk` belongs to; of a message without a key: behind it. `0` comes after `/`. */
export const behind = (sk: string): string => (sk.startsWith('k/') ? `${sk.slice(0, keyPrefix('').length - 1 + 32)}0` : `${sk} `);

export interface Place {
  readonly pk: string;
  readonly sk: string;
}

export const placeOf = (key: string | undefined, id: string, stamp: number, index?: number): Place => {
  const hash = hashOf(key ?? id);
  const part = index === undefined ? 'm' : `a${String(index).padStart(INDEX_DIGITS, '0')}`;
  return { pk: shardOf(hash), sk: key === undefined ? `u/${stampText(stamp)}/${id}` : `${keyPrefix(hash)}${stampText(stamp)}/${part}` };
};

export const keyAt = ({ pk, sk }: Place): { pk: AttributeValue; sk: AttributeValue } => ({ pk: { S: pk }, sk: { S: sk } });

/** As it lies in an item. */
export interface KeptMessage {
  readonly id: string;
  readonly topic: string;
  readonly key?: string | undefined;
  readonly payload: unknown;
  /** Its place among those of its run and key. */
  readonly index: number;
}

/** What waits under one sort key: of one run, and of one key. */
export interface Group {
  readonly place: Place;
  readonly messages: readonly KeptMessage[];
  readonly stamp: number;
  /** How many of them are over, from the first. */
  readonly done: number;
  /** Of the first that is not. */
  readonly attempts: number;
  readonly dueAtMs: number;
}

export function groupItem({ place, messages, stamp }: Pick<Group, 'place' | 'messages' | 'stamp'>): Item {
  return {
    ...keyAt(place),
    messages: { S: JSON.stringify(messages) },
    stamp: { N: String(stamp) },
    count: { N: String(messages.length) },
    done: { N: '0' },
    attempts: { N: '0' },
    dueAtMs: { N: '0' },
  };
}

/** @throws RerunSafeError `STORE_MISCONFIGURED` for what this version cannot read. */
export function groupIn(item: Item): Group {
  const place = { pk: item.pk?.S ?? '', sk: item.sk?.S ?? '' };
  try {
    const messages = JSON.parse(item.messages?.S ?? '') as KeptMessage[];
    const [stamp, done, attempts, dueAtMs] = [item.stamp, item.done, item.attempts, item.dueAtMs].map((value) => Number(value?.N)) as [
      number,
      number,
      number,
      number,
    ];
    if (![stamp, done, attempts, dueAtMs].every(Number.isSafeInteger)) throw new Error('a number is missing');
    return { place, messages, stamp, done, attempts, dueAtMs };
  } catch (error) {
    throw storeMisconfigured(`the item ${place.pk} ${place.sk} of the outbox's table is none that this version has written`, error);
  }
}
