/**
 * Running scripts: one time limit for a whole call, and a deadline by the server's clock for what was sent within it.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import type { CallOptions } from '../../core/ports.ts';
import { type TimeLimit, timeLimit } from '../../core/time-limit.ts';
import { type RedisClient, wireOf } from './client.ts';
import { isNoScript, toStoreError } from './map-error.ts';
import { CLOCK, type Script } from './scripts.ts';
import { type ServerTime, serverTime } from './server-time.ts';
import { type Command, Unsent, type Wire } from './wire.ts';

export const DEFAULT_REQUEST_TIMEOUT_MS = 5_000;

export interface Answer {
  readonly status: string;
  /** The server's time. */
  readonly nowMs: number;
  /** What comes after those two. */
  readonly rest: readonly unknown[];
}

/** As the first argument of the script: what `MONITOR`, the slow log and the tests tell requests apart by. */
export type Operation = 'read' | 'create' | 'replace' | 'delete' | 'commit' | 'fenced';

export interface Request {
  readonly operation: Operation;
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args?: readonly string[];
  /** Then the deadline comes after the name, before the other arguments. */
  readonly writes: boolean;
  readonly withWork?: boolean;
}

export interface Connection {
  readonly time: ServerTime;
  readonly keyPrefix: string;
  readonly resends: boolean;
  run(request: Request, call?: CallOptions): Promise<Answer>;
  /** One sender of plain commands, that only read, for each server with keys of its own. */
  masters(): Promise<readonly ((command: Command) => Promise<unknown>)[]>;
}

/** All who use one client share what it told about the time. */
const times = new WeakMap<object, ServerTime>();

function timeOf(client: RedisClient): ServerTime {
  const time = times.get(client) ?? serverTime();
  times.set(client, time);
  return time;
}

/** Each time the server's clock was set back or forth in between, or another server has taken over. */
const MOST_LATE = 3;

export function connect(client: RedisClient, requestTimeoutMs: number): Connection {
  const wire = wireOf(client);
  const time = timeOf(client);
  const reading = { writes: false, withWork: false };
  return {
    time,
    keyPrefix: wire.keyPrefix,
    resends: wire.resends,
    async run(request, call) {
      const { writes, withWork = false } = request;
      const limit = timeLimit(requestTimeoutMs, call?.signal);
      try {
        for (let round = 1; ; round++) {
          const answer = await runOnce(wire, time, request, limit);
          if (answer.status !== 'late') return answer;
          // It did nothing, and the time it told makes the next deadline a better one.
          if (round === MOST_LATE) throw storeUnavailable('Redis: each try came too late by the clock of the server', undefined);
        }
      } catch (error) {
        throw toStoreError(error, { writes, withWork });
      } finally {
        limit.done();
      }
    },
    async masters() {
      const limited = async <T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> => {
        const limit = timeLimit(requestTimeoutMs, undefined);
        try {
          return await limit.race(call(limit.signal));
        } catch (error) {
          throw toStoreError(error, reading);
        } finally {
          limit.done();
        }
      };
      const senders = await limited((signal) => wire.masters(signal));
      return senders.map((send) => (command) => limited((signal) => send(command, signal)));
    },
  };
}

async function runOnce(wire: Wire, time: ServerTime, { operation, script, keys, args = [], writes }: Request, limit: TimeLimit): Promise<Answer> {
  // Not counted as time that the command took: it would blur what the answer tells of the server's clock.
  await limit.race(wire.ready(limit.signal));
  const send = async (command: Command): Promise<Answer> => {
    if (limit.signal.aborted) throw new Unsent(limit.signal.reason);
    const sentAtMs = time.localMs();
    const [status, nowMs, ...more] = (await limit.race(wire.send(command, keys[0] ?? '', limit.signal))) as unknown[];
    time.learn(Number(nowMs), sentAtMs, time.localMs());
    return { status: String(status), nowMs: Number(nowMs), rest: more };
  };
  if (writes && !time.isKnown()) {
    // A deadline by our own clock, which may be minutes ahead, would let a late write through.
    await send(['EVAL', CLOCK.source, '1', keys[0] ?? '']).catch((error: unknown) => {
      throw toStoreError(error, { writes: false, withWork: false });
    });
  }
  const deadline = writes ? [String(time.latestMs(limit.endsAtMs))] : [];
  const rest = [String(keys.length), ...keys, operation, ...deadline, ...args];
  try {
    return await send(['EVALSHA', script.sha, ...rest]);
  } catch (error) {
    if (!isNoScript(error)) throw error;
    // Not known there (any more): a restart, a failover, SCRIPT FLUSH.
    return await send(['EVAL', script.source, ...rest]);
  }
}
