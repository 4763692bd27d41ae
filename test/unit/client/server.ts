/**
 * A real server that answers as told, and a client whose pauses pass at once.
 *
 * @module
 */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { type IdempotentFetchOptions, idempotentFetch } from '../../../src/adapters/client/index.ts';
import { type VirtualClock, virtualClock } from '../../../src/testing/index.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** `drop`: the connection is reset after the request was read. `hang`: no answer at all. */
export type Answer = 'drop' | 'hang' | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface Listening extends AsyncDisposable {
  readonly url: string;
}

export interface Scripted extends Listening {
  readonly seen: Seen[];
  /** Requests that hang and whose time-out has not passed yet. */
  hanging: number;
}

export async function listen(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/charges`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Answers one after the other; 201 when there are no more. */
export async function scripted(...answers: readonly Answer[]): Promise<Scripted> {
  const left = [...answers];
  const told = { seen: [] as Seen[], hanging: 0 };
  const listening = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    told.seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
    const answer = left.shift() ?? { status: 201, body: 'done' };
    if (answer === 'hang') told.hanging += 1;
    else if (answer === 'drop') request.socket.destroy();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  return Object.assign(told, listening);
}

export const problem = (type: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 409,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: JSON.stringify({ type, status: 409 }),
});

/** How long the client reads a problem document: no pause. */
const READING_MS = 5_000;
export const TRY_MS = 30_000;

export interface QuickClient {
  readonly clock: VirtualClock;
  readonly send: ReturnType<typeof idempotentFetch>;
  /** The pauses that passed, ms. */
  readonly pauses: readonly number[];
  /** Waits for the outcome and lets time pass whenever the client does nothing but wait. `onPause` runs before a pause passes, and may hold time still. */
  settled<T>(sent: Promise<T>, options?: { server?: Scripted; onPause?: () => unknown }): Promise<T>;
}

export function quickClient(options: IdempotentFetchOptions = {}): QuickClient {
  const clock = virtualClock();
  const pauses: number[] = [];
  let sending = 0;
  let paused: number | undefined;
  const after: VirtualClock['timers']['after'] = (ms, callback, how) => {
    if (sending === 0 && ms !== READING_MS) paused = ms;
    return clock.timers.after(ms, callback, how);
  };
  const counted = (...sent: Parameters<typeof fetch>): Promise<Response> => {
    sending += 1;
    // The timer that was set for this try is no pause.
    paused = undefined;
    return fetch(...sent).finally(() => {
      sending -= 1;
    });
  };
  return {
    clock,
    pauses,
    send: idempotentFetch({ tryTimeoutMs: TRY_MS, fetch: counted, ...options, system: { ...clock, timers: { after } } }),
    async settled(sent, { server, onPause } = {}) {
      let over = false;
      const outcome = sent.finally(() => {
        over = true;
      });
      outcome.catch(() => {});
      while (!over) {
        await new Promise((resolve) => setImmediate(resolve));
        if (server !== undefined && server.hanging > 0) {
          server.hanging -= 1;
          await clock.advance(TRY_MS);
        } else if (paused !== undefined && sending === 0) {
          const ms = paused;
          paused = undefined;
          pauses.push(ms);
          if ((await onPause?.()) !== 'stay') await clock.advance(ms);
        }
      }
      expect(clock.pendingTimers(), 'I12 timers left behind').toBe(0);
      return outcome;
    },
  };
}

export const post = (body: RequestInit['body'] = '{"amount":5}'): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: body ?? null,
});
