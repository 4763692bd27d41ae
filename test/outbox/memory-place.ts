/**
 * A place for messages in this process, for what the relay decides by its own: it keeps, in order, and nothing else.
 *
 * @module
 */
import { RerunSafeError } from '../../src/core/errors.ts';
import type { OutboxPlace, ParkedMessage, WaitingMessage } from '../../src/outbox/port.ts';

interface Row extends WaitingMessage {
  attempts: number;
  dueAtMs: number;
  parkedAtMs: number | undefined;
  error: string;
}

export interface MemoryPlace extends OutboxPlace {
  add(id: string, key?: string, payload?: unknown): void;
  readonly rows: readonly Row[];
  /** Thrown by the next calls of that name, one each. */
  fail(method: 'enter' | 'take' | 'settle', ...errors: unknown[]): void;
}

export function memoryPlace(nowMs: () => number): MemoryPlace {
  let rows: Row[] = [];
  let token = 0;
  const failures = new Map<string, unknown[]>();
  const failing = (method: string): void => {
    const error = failures.get(method)?.shift();
    if (error !== undefined) throw error;
  };
  const current = (theirs: number): void => {
    if (theirs < token) throw new RerunSafeError('STALE_TOKEN', 'overtaken');
    token = theirs;
  };
  const parked = (): Row[] => rows.filter(({ parkedAtMs }) => parkedAtMs !== undefined);
  return {
    name: 'memory',
    get rows() {
      return rows;
    },
    add(id, key, payload = null) {
      rows.push({ id, topic: 'test', key, payload, attempts: 0, createdAtMs: nowMs(), dueAtMs: 0, parkedAtMs: undefined, error: '' });
    },
    fail: (method, ...errors) => void failures.set(method, errors),
    async enter(relay) {
      failing('enter');
      current(relay.token);
    },
    async take({ limit, holdParked }) {
      failing('take');
      const waiting = rows.filter(({ parkedAtMs }) => parkedAtMs === undefined);
      const waitsFor = new Set(waiting.filter(({ dueAtMs }) => dueAtMs > nowMs()).map(({ key }) => key));
      if (holdParked) for (const { key } of parked()) waitsFor.add(key);
      waitsFor.delete(undefined);
      return { messages: waiting.filter(({ dueAtMs, key }) => dueAtMs <= nowMs() && !waitsFor.has(key)).slice(0, limit) };
    },
    async settle(relay, settlements) {
      failing('settle');
      current(relay.token);
      for (const { message, ending } of settlements) {
        const row = rows.find(({ id }) => id === message.id);
        if (row === undefined) continue;
        if (ending.kind === 'delivered') rows = rows.filter((other) => other !== row);
        else {
          Object.assign(row, { attempts: ending.attempts, error: ending.error });
          if (ending.kind === 'retry') row.dueAtMs = nowMs() + ending.delayMs;
          else row.parkedAtMs = nowMs();
        }
      }
    },
    waiting: async () => rows.length - parked().length,
    async *listParked() {
      for (const { error, ...row } of parked()) yield { ...row, lastError: error } as ParkedMessage;
    },
    async unpark(id) {
      const row = parked().find((one) => one.id === id);
      if (row !== undefined) Object.assign(row, { parkedAtMs: undefined, attempts: 0, dueAtMs: 0 });
      return row !== undefined;
    },
    async dropParked(id) {
      const before = rows.length;
      rows = rows.filter((row) => row.id !== id || row.parkedAtMs === undefined);
      return rows.length < before;
    },
    setUp: async () => {},
  };
}
