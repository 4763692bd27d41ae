/**
 * Submitting a transaction that is bound to the row of a lease or record: again when that only changed under its holder's hands, and looked up when
 * the answer was lost.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { TableClient, TableTransactionResponse, TransactionAction } from '@azure/data-tables';
import { storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { mustHold } from '../../core/fence.ts';
import { type Fence, PURGE_MIN_AGE_MS } from '../../core/ports.ts';
import { areComplete, checkActions, isNearItsEnd, look, newMark, type Seen, type Standing } from './fence-rows.ts';
import type { Refusal } from './map-error.ts';
import type { Keys } from './place.ts';
import type { Request } from './request.ts';
import { OfTheActions, type Submitted, submit } from './submit.ts';

/** Each lost race means that somebody else's write went through; so many in a row have other reasons. */
const ROUNDS = 20;
const MOST_PAUSE_MS = 500;
/** Long enough for a renewal's read and write, where all who share the fence keep still. */
const ROOM_MS = 500;
/** So many sends without an answer: the network will not mend within this call. */
const DOUBTS = 3;
/** Marks older than an hour may have been removed: a process that was stopped for so long cannot tell any more. */
const MARKS_KEPT_MS = PURGE_MIN_AGE_MS / 2;

export interface Call {
  readonly request: Request;
  readonly fence: Fence;
  readonly row: Keys;
  readonly actions: readonly TransactionAction[];
  readonly uncertaintyMs: number;
  readonly signal?: AbortSignal;
}

/** What was sent last, over which state of the row. */
interface Sent {
  readonly etag: string;
  readonly refusal: Refusal | undefined;
}

/** @returns undefined where it has landed but the answer was lost. */
export async function submitFenced(call: Call): Promise<TableTransactionResponse | undefined> {
  const mark = newMark();
  const begunAtMs = Date.now();
  let before: Seen | undefined;
  let sent: Sent | undefined;
  /** Sends whose effect is not known yet. */
  let doubt: unknown;
  let doubts = 0;
  let roomMade = false;
  for (let round = 1; round <= ROUNDS; round++) {
    // One lost race is a renewal; more are others of the same holder, who would go on winning.
    if (round > 2) await wait(Math.random() * Math.min(MOST_PAUSE_MS, 10 * 2 ** round), call);
    let seen = await lookAgain(call, doubt);
    if (!roomMade && isNearItsEnd(seen.standing)) {
      // The holder's renewal is late: what it binds itself to is changed by each of us.
      roomMade = true;
      await wait(Math.min(ROOM_MS, seen.standing.term.leaseMs / 8) * (1 + Math.random() / 2), call);
      seen = await lookAgain(call, doubt);
    }
    before ??= seen;
    if (seen.landed.includes(mark)) return undefined;
    if (doubt !== undefined && !(areComplete(seen.landed, before.landed) && Date.now() - begunAtMs < MARKS_KEPT_MS)) throw doubt;
    if (sent !== undefined) {
      const { etag, refusal } = sent;
      if (seen.standing?.etag !== etag) {
        // What was bound to the row as it was can land no more.
        doubt = undefined;
      } else if (refusal !== undefined) {
        // The row is as it was, so it was not its condition that failed. An earlier try may still land, when what is in its way has gone.
        throw doubt === undefined ? refusal.cause : writeUnknown('fenced transaction', refusal.cause);
      }
    }
    mustHold(call.fence, seen.standing?.record, 'this table');
    const standing = seen.standing as Standing;
    if (doubts === DOUBTS) throw doubt ?? storeUnavailable('a fenced transaction got no answer', undefined);
    const checks = checkActions(call.row, standing, call.uncertaintyMs, [mark, ...seen.landed]);
    const result = await send(call, checks, doubt);
    if ('landed' in result) return result.landed;
    if (result.doubt !== undefined) {
      doubt = result.doubt;
      doubts += 1;
    }
    sent = { etag: standing.etag, refusal: result.refusal };
  }
  throw doubt ?? storeUnavailable(`the row of ${call.fence.id} was changed by others ${ROUNDS} times in a row`, undefined);
}

/** A refusal for what was asked for does not settle an earlier try. */
async function send({ request, actions, signal }: Call, checks: TransactionAction[], doubt: unknown): Promise<Submitted> {
  try {
    const result = await submit(request, 'fenced transaction', [...actions, ...checks], signal);
    if (!('landed' in result)) return result;
    return { landed: { ...result.landed, subResponses: result.landed.subResponses.slice(0, actions.length) } };
  } catch (error) {
    if (doubt !== undefined) throw doubt;
    throw error instanceof OfTheActions ? error.cause : error;
  }
}

/** A caller who has gone is told by the look that follows. */
const wait = (ms: number, { signal }: Call): Promise<void> => pause(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});

async function lookAgain({ request, row, signal }: Call, doubt: unknown): Promise<Seen> {
  try {
    return await look(request, row, signal);
  } catch (error) {
    if (doubt !== undefined) throw writeUnknown('a fenced transaction could not be looked up', error);
    throw error;
  }
}

const lines = new WeakMap<TableClient, Map<string, Promise<unknown>>>();

/** Each transaction changes the row that the others of the same holder are bound to: at once they would only be in each other's way. */
export function inLine<T>(client: TableClient, place: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const line = lines.get(client) ?? new Map<string, Promise<unknown>>();
  lines.set(client, line);
  return new Promise<T>((resolve, reject) => {
    const leave = (): void => reject(storeUnavailable('a fenced transaction was given up before its turn', signal?.reason));
    const turn = async (): Promise<void> => {
      // From here on the requests look at the signal themselves: what was sent may be in doubt.
      signal?.removeEventListener('abort', leave);
      if (signal?.aborted) leave();
      else await task().then(resolve, reject);
    };
    signal?.addEventListener('abort', leave, { once: true });
    const over = (line.get(place) ?? Promise.resolve()).then(turn).then(() => {
      if (line.get(place) === over) line.delete(place);
    });
    line.set(place, over);
    if (signal?.aborted) leave();
  });
}
