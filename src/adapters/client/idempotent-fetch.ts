/**
 * `fetch` that can be repeated: one key per intent, the same in every try, never for another payload.
 *
 * The rules are those a server of this package publishes (draft-ietf-httpapi-idempotency-key-header-07 where it says something).
 *
 * @module
 */
import { serializeItem } from 'structured-headers';
import { RerunSafeError, writeUnknown } from '../../core/errors.ts';
import { has, invalidOptions } from '../../core/options.ts';
import { elapsedMs, instant, pause } from '../../core/system.ts';
import { parseKeyHeader } from '../../http/key-header.ts';
import { type Intent, newIntent } from './intent.ts';
import { judgeAnswer, pauseMs, type Verdict } from './judge.ts';
import { type BoundClient, bindClient, type IdempotentFetchOptions } from './options.ts';
import { methodOf, type Payload, type RequestInput, readPayload, signalOf } from './payload.ts';
import { problemTypeOf } from './problem-type.ts';
import { retryAfterMs } from './retry-after.ts';

/** The response of fetch, and what is known beside it. A `clone()` is a plain response. */
export type SentResponse = Response & {
  /** The server had done it before, and answers with what it kept (`Idempotent-Replayed: true`). */
  readonly replayed: boolean;
  /** How many requests were made, the first one included. */
  readonly tries: number;
  /** What was sent; undefined where the request passed through. */
  readonly intent: Intent | undefined;
};

export type IdempotentFetch = (input: RequestInput, init?: RequestInit, intent?: Intent) => Promise<SentResponse>;

/**
 * Makes a `fetch` for servers that honour `Idempotency-Key`. Tries again, with the same key, after network errors, tries without an answer,
 * 409 "in flight", 425, 429, 500, 502, 503 and 504, no sooner than `Retry-After` says. When the tries are over the last answer is returned, or the last
 * error thrown, as fetch would; the same intent may then be sent again later.
 *
 * @throws RerunSafeError (here) `INVALID_OPTIONS`. (A send, before anything is sent) `MISSING_KEY`: no intent; `KEY_REUSED`: it stands for another
 *   request; `BLOCKED`: it is older than the server remembers; `INVALID_OPTIONS`: the body is too long, or the header was set by hand. (After the
 *   last try) `WRITE_UNKNOWN`: no answer in time. Otherwise what fetch throws, and the signal's reason.
 *
 * @example
 * const send = idempotentFetch();
 * const intent = newIntent();
 * const response = await send('https://api.example.com/charges', { method: 'POST', body: JSON.stringify(charge) }, intent);
 * if (response.replayed) console.log('that was done before');
 */
export function idempotentFetch(options: IdempotentFetchOptions = {}): IdempotentFetch {
  const bound = bindClient(options);
  return async (input, init, intent) => {
    const method = methodOf(input, init);
    if (!bound.methods.has(method)) {
      if (intent !== undefined)
        throw invalidOptions('idempotentFetch', [`an intent was given, but methods does not name ${method}. Nothing was sent`]);
      return told(await bound.fetch(input, init), 1, undefined);
    }
    const sent = intent ?? withoutIntent(bound);
    if (has('bind', 'toJSON')(sent) !== undefined)
      throw invalidOptions('idempotentFetch', ['the intent must be made by newIntent, intentFor or intentFrom']);
    const signal = signalOf(input, init);
    signal?.throwIfAborted();
    const payload = await readPayload(input, init, bound.maxBodyBytes, signal);
    if (payload.headers.has(bound.headerName)) {
      throw invalidOptions('idempotentFetch', [`${bound.headerName} was set by hand: use newIntent({ key }). Nothing was sent`]);
    }
    payload.headers.set(bound.headerName, headerValue(bound, sent.key));
    refuseForgotten(bound, sent);
    sent.bind(payload.fingerprint);
    return deliver(bound, payload, sent, signal);
  };
}

function withoutIntent({ withoutIntent: choice, system }: BoundClient): Intent {
  if (choice === 'fresh') return newIntent({ system });
  throw new RerunSafeError('MISSING_KEY', 'This request needs an intent: send(url, init, newIntent()), made once per wish. Nothing was sent.');
}

function headerValue({ form }: BoundClient, key: string): string {
  if (form === 'quoted') return serializeItem(key);
  const parsed = parseKeyHeader(key);
  if (parsed.kind === 'key' && parsed.key === key) return key;
  throw invalidOptions('idempotentFetch', ["this key cannot go without its quotes (form: 'bare'). Nothing was sent"]);
}

const lifeLeftMs = ({ keyLifetimeMs, system }: BoundClient, { createdAtMs }: Intent): number => keyLifetimeMs - (system.clock.wallMs() - createdAtMs);

function refuseForgotten(bound: BoundClient, intent: Intent): void {
  if (lifeLeftMs(bound, intent) > 0) return;
  throw new RerunSafeError(
    'BLOCKED',
    `The intent is older than keyLifetimeMs (${bound.keyLifetimeMs}): the server may have forgotten it, and would do it again. ` +
      'Nothing was sent. Find out whether it was done; if not, make a new intent.',
  );
}

type Tried = { readonly response: Response } | { readonly error: unknown };

async function deliver(bound: BoundClient, payload: Payload, intent: Intent, signal: AbortSignal | undefined): Promise<SentResponse> {
  const { system, maxElapsedMs, maxRetries } = bound;
  const begun = instant(system.clock);
  const leftMs = (): number => Math.min(maxElapsedMs - elapsedMs(begun, system.clock), lifeLeftMs(bound, intent));
  for (let retries = 0; ; retries += 1) {
    const tried = await tryOnce(bound, payload, Math.max(1, Math.ceil(Math.min(bound.tryTimeoutMs, leftMs()))), signal);
    const verdict = await judge(bound, tried);
    const next = verdict.kind === 'again' ? pauseMs(verdict.retryAfterMs, { retries, maxRetries, leftMs: leftMs() }, system.random()) : undefined;
    if (next === undefined) {
      if ('error' in tried) throw tried.error;
      return told(tried.response, retries + 1, intent);
    }
    await pause(system, next, signal);
    // A machine that slept meanwhile wakes up later than planned: the server may have forgotten the key.
    if (leftMs() <= 0) {
      if ('error' in tried) throw tried.error;
      return told(tried.response, retries + 1, intent);
    }
    // An answer that nobody reads would hold its connection.
    if ('response' in tried) tried.response.body?.cancel().catch(() => {});
  }
}

/** Ends with the headers; the body that follows is bounded by the caller's signal alone. */
async function tryOnce({ fetch, system }: BoundClient, payload: Payload, limitMs: number, signal: AbortSignal | undefined): Promise<Tried> {
  const late = new AbortController();
  const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
  const end = (): void => late.abort(writeUnknown(`${payload.method}, within ${limitMs} ms`, undefined));
  const cancel = system.timers.after(limitMs, end, { keepAlive: true });
  const { method, url, headers, body, rest } = payload;
  try {
    return { response: await fetch(url, { ...rest, method, headers, body: body ?? null, signal: either }) };
  } catch (error) {
    return { error };
  } finally {
    cancel();
  }
}

async function judge({ system }: BoundClient, tried: Tried): Promise<Verdict> {
  // An abort, too: the pause that follows ends at once, with the reason of the signal.
  if ('error' in tried) return { kind: 'again', retryAfterMs: undefined };
  const { response } = tried;
  const problemType = response.status === 409 || response.status === 500 ? await problemTypeOf(response, system) : undefined;
  return judgeAnswer({ status: response.status, retryAfterMs: retryAfterMs(response.headers, system.clock.wallMs()), problemType });
}

function told(response: Response, tries: number, intent: Intent | undefined): SentResponse {
  const replayed = response.headers.get('idempotent-replayed')?.trim().toLowerCase() === 'true';
  // Configurable: an injected fetch may hand out one response twice.
  const facts = Object.entries({ replayed, tries, intent }).map(([name, value]) => [name, { value, configurable: true }]);
  return Object.defineProperties(response, Object.fromEntries(facts)) as SentResponse;
}
