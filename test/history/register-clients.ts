/**
 * Clients that create, replace, read and delete the same few rows at random, and what is wrong with what they were answered.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { isRerunSafeError } from '../../src/core/errors.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { runningRecord } from '../support/promises-case.ts';
import { callsOf } from './calls.ts';
import type { Event } from './format.ts';
import type { History } from './log.ts';
import { noted } from './record-store.ts';
import { type Delivery, judgeRegister } from './register.ts';
import { textOf } from './violation.ts';

export interface Traffic {
  readonly keys: readonly string[];
  /** Of each client, on all keys together. */
  readonly operations: number;
  readonly deletes: boolean;
  /** Of the calls that are given up, and after how long at most. */
  readonly impatience: { readonly share: number; readonly withinMs: number };
  random(): number;
}

/** One client: what it knows of a row is what it was last shown. */
export async function drive(store: RecordStore, history: History, caller: string, traffic: Traffic): Promise<void> {
  const { keys, operations, deletes, impatience, random } = traffic;
  const known = new Map<string, string>();
  const client = noted(store, history, caller);
  for (let n = 0; n < operations; n += 1) {
    const key = keys[Math.floor(random() * keys.length)] as string;
    const signal = random() < impatience.share ? AbortSignal.timeout(1 + Math.floor(random() * impatience.withinMs)) : undefined;
    const options = signal === undefined ? {} : { signal };
    try {
      await once(client, key, known, options, deletes && random() < 0.15, random());
    } catch (error) {
      if (!isRerunSafeError(error)) throw error;
      // Whoever is in doubt looks.
      if (error.code === 'WRITE_UNKNOWN' && random() < 0.5) known.delete(key);
    }
  }
}

async function once(
  client: RecordStore,
  key: string,
  known: Map<string, string>,
  options: { signal?: AbortSignal },
  deletes: boolean,
  chosen: number,
): Promise<void> {
  const version = known.get(key);
  if (chosen < 0.25) {
    const standing = await client.read(key, options);
    if (standing === undefined) known.delete(key);
    else known.set(key, standing.version);
    return;
  }
  const record = runningRecord(client, { owner: randomUUID() });
  const result =
    version === undefined || chosen > 0.95
      ? await client.create(key, record, options)
      : deletes
        ? await client.delete(key, version, options)
        : await client.replace(key, record, version, options);
  if (!result.ok && result.reason !== 'conflict') throw new Error('too large');
  const now = result.ok ? (deletes && version !== undefined ? undefined : result.version) : result.current?.version;
  if (now === undefined) known.delete(key);
  else known.set(key, now);
}

export interface Judged {
  readonly calls: number;
  readonly mostOfAKey: number;
  readonly unknown: number;
  readonly refused: number;
  readonly wrong: readonly string[];
}

export function judgeTraffic(events: readonly Event[], keys: readonly string[], delivery: Delivery): Judged {
  const calls = callsOf(events);
  const byKey = keys.map((key) => calls.filter(({ invoke }) => invoke.key === key));
  return {
    calls: calls.length,
    mostOfAKey: Math.max(...byKey.map(({ length }) => length)),
    unknown: calls.filter(({ end, invoke }) => end === 'unknown' && invoke.op !== 'read').length,
    refused: calls.filter((call) => call.end === 'ok' && call.answer !== null && 'ok' in call.answer && !call.answer.ok).length,
    wrong: byKey.flatMap((own, n) => judgeRegister(keys[n] as string, own, delivery).violations.map(textOf)),
  };
}
