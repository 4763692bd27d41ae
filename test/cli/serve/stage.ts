/**
 * The page as it is served, a client that keeps its cookie, and records in every state.
 *
 * @module
 */

import type { OpenPlace } from '../../../src/cli/places/open.ts';
import { serve } from '../../../src/cli/serve/serve.ts';
import { PermanentError } from '../../../src/core/errors.ts';
import type { RunOnceOptions } from '../../../src/core/guard.ts';
import { splitOptions } from '../../../src/core/guard.ts';
import { tryAcquire } from '../../../src/core/lease.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import type { Run } from '../../../src/core/run.ts';
import { runGuarded, type Work } from '../../../src/core/run-once.ts';
import { KEPT, printed } from '../commands/stage.ts';

export interface Served {
  /** With its token. */
  readonly url: string;
  /** `http://127.0.0.1:1234` */
  readonly base: string;
  readonly host: string;
  /** What it printed: its address, and each change. */
  lines(): Record<string, unknown>[];
  readonly warned: string[];
  /** Asks with the cookie of that address. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answered>;
  /** As the browser sends a form. */
  post(path: string, form: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Answered>;
  readonly cookie: string;
  stop(): Promise<number>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The values of the hidden fields, of the first form that has them. */
  readonly hidden: Readonly<Record<string, string>>;
}

export async function startPage(place: OpenPlace, more: { allowWrites?: boolean; showValues?: boolean } = {}): Promise<Served> {
  const end = new AbortController();
  const { out, json } = printed({ json: true });
  const warned: string[] = [];
  const ended = serve({ place, ...more, out, warn: (text) => warned.push(text), signal: end.signal });
  while (json().length === 0) await Promise.race([new Promise((tick) => setTimeout(tick, 5)), ended]);
  const url = String(json()[0]?.url);
  const base = new URL(url).origin;
  const first = await fetch(url, { redirect: 'manual' });
  const cookie = String(first.headers.get('set-cookie')).split(';', 1)[0] as string;
  const ask = async (path: string, init: RequestInit): Promise<Answered> => {
    const response = await fetch(`${base}${path}`, { redirect: 'manual', ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, hidden: hiddenOf(text) };
  };
  return {
    url,
    base,
    host: new URL(url).host,
    lines: json,
    warned,
    cookie,
    get: (path, headers = {}) => ask(path, { headers: { cookie, ...headers } }),
    post: (path, form, headers = {}) =>
      ask(path, { method: 'POST', body: new URLSearchParams(form), headers: { cookie, origin: base, 'sec-fetch-site': 'same-origin', ...headers } }),
    stop: () => {
      end.abort();
      return ended;
    },
  };
}

const hiddenOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].reverse().map(([, name = '', value = '']) => [name, value]),
  );

export const HOSTILE = '<img src=x onerror=alert(1)> "\' \u202Eevil\u202C \u0007';
export const SECRET_VALUE = 'card 4111 of Ann Example';

/** As a guard of a host does it: with a holder. */
function attempt(
  store: RecordStore,
  key: string,
  holder: string,
  work: Work<unknown>,
  more: Partial<RunOnceOptions<unknown>> = {},
): Promise<unknown> {
  const { guard, call } = splitOptions('tryRunOnce', { store, operation: 'script', key, ...more } as RunOnceOptions<unknown>);
  return runGuarded(guard, { ...call, holder }, work).catch((error: unknown) => error);
}

const fail = (error: Error) => (): never => {
  throw error;
};

export interface Standings {
  /** Lets what runs end. */
  finish(): Promise<void>;
}

/** One record in each state, and two locks, one of which is held. `pass`: lets the time of the store pass between them. */
export async function standings(store: RecordStore, leases: OpenPlace['leases'], pass: (ms: number) => void = () => {}): Promise<Standings> {
  const provider = new Error('the provider did not answer');
  await attempt(store, 'nightly report 2026-01-01', 'cron@db-1 pid 311', async () => KEPT);
  pass(5_400_000);
  await attempt(store, 'invoice 17', 'send-invoices 7f3a', async () => ({ secret: SECRET_VALUE }), { operation: 'invoices/send' });
  await attempt(store, 'import 2026-01', 'ann@build-7 pid 1702', fail(provider), {
    onThrow: () => ({ as: 'release', note: 'the file was not there yet' }),
  });
  pass(1_500_000);
  await attempt(store, 'migrate 42', 'ci@runner-3 pid 88', fail(provider), { onThrow: () => ({ as: 'unknown', note: 'ended by SIGKILL' }) });
  await attempt(store, 'order 12', 'payments 19b2', fail(new PermanentError(SECRET_VALUE, { code: 'declined' })), { operation: 'payments/charge' });
  const charge = async (run: Run): Promise<never> => {
    await run.step('reserve stock', () => 1);
    return run.step('charge card', fail(provider), { mode: 'atMostOnce' });
  };
  pass(600_000);
  const charged = { operation: 'payments/charge', onUnknown: 'retry', maxAttempts: 3 } as const;
  await attempt(store, 'order 4711', 'payments 19b2', charge, { ...charged, onThrow: () => ({ as: 'release', note: 'timed out' }) });
  pass(240_000);
  await attempt(store, 'order 4711', 'payments 20c7', charge, { ...charged, onThrow: () => ({ as: 'block', note: 'the provider did not answer' }) });
  pass(420_000);
  let end = (): void => {};
  let running: Promise<unknown> = Promise.resolve();
  await new Promise<void>((begun) => {
    const ending = new Promise<void>((resolve) => {
      end = resolve;
    });
    running = attempt(store, 'certificate shop.example', 'ann@build-7 pid 4711', () => {
      begun();
      return ending;
    });
  });
  const held = await tryAcquire(leases, 'backup', { leaseMs: 60_000, label: 'cron@db-1 pid 311' });
  const report = await tryAcquire(leases, 'report', { label: 'cron@db-2 pid 40' });
  if (report.kind === 'acquired') await report.lease.release();
  return {
    async finish() {
      end();
      await running;
      if (held.kind === 'acquired') await held.lease.release();
    },
  };
}

/** A record whose key and note are an attack on whoever shows them. */
export const hostile = (store: RecordStore): Promise<unknown> =>
  attempt(store, HOSTILE, 'payments 19b2', fail(new Error('x')), { onThrow: () => ({ as: 'block', note: HOSTILE }) });
