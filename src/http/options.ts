/**
 * What a user chooses for an HTTP operation, checked once.
 *
 * @module
 */
import { isRerunSafeError } from '../core/errors.ts';
import { type Guard, type GuardOptions, guardFrom, type UnknownAnswer } from '../core/guard.ts';
import type { Key } from '../core/key.ts';
import { either, invalidOptions, isBoolean, isFunction, isInteger, isName, isOneOf, type Rule, type Rules } from '../core/options.ts';
import type { Run } from '../core/run.ts';
import { handOut } from './hand-out.ts';
import { isNeverKept, KEPT_HEADERS, type KeptReply, keptOrNot } from './kept-reply.ts';
import { HttpNotKept, type HttpReply } from './message.ts';

type Answer<V> = V | undefined | null | Promise<V | undefined | null>;

export interface HttpOptions<R, T = HttpReply> extends GuardOptions<T> {
  /**
   * On whose behalf, taken from *verified* claims (never from something a caller may choose), or the literal `'public'` where all callers may see
   * each other's replies. Required. undefined, null and '' for a request are refused (401), never shared.
   */
  readonly scope: ((request: R) => Answer<Key>) | 'public';
  /** The guarded methods; others pass through, without a run. Default `['POST', 'PATCH']`. */
  readonly methods?: readonly string[];
  /** The key of a request, instead of the header. */
  readonly key?: (request: R) => Answer<Key>;
  /** A request without a key is refused with 400 (default true), or passes through unguarded (false). */
  readonly required?: boolean;
  /** Default `Idempotency-Key`. */
  readonly headerName?: string;
  /** Take only the quoted form of the draft. Default false: a bare run of visible ASCII is the same key as its quoted form. */
  readonly strict?: boolean;
  /**
   * A key from the header that is a UUID of version 7, and older than the retention, is refused with 400 instead of run again without a word: the
   * record of its first use may be forgotten. Where a record still stands it is replayed. Default true; false where clients send old ids as keys.
   */
  readonly timeOrderedKeys?: boolean;
  /**
   * A second look before a replay: whoever was allowed to do something may have lost the right to see it. Anything but true is 403, and nothing else
   * changes. Asked with the status of the kept reply (500 for a remembered error), after the request was found to be the same; not for a first answer.
   */
  readonly authorizeReplay?: (request: R, reply: { readonly status: number }) => boolean | Promise<boolean>;
  /**
   * What makes two requests the same. Default: method, path, query, content type, body (JSON in canonical form). `false`: a key is never checked
   * against its request, and the body is not read.
   */
  readonly fingerprint?: false | ((request: R) => string | Promise<string>);
  /** Overrules what is kept as final: true, false, or undefined for the default (2xx, 3xx, and 4xx that would repeat). */
  readonly keep?: (reply: HttpReply) => boolean | undefined;
  /** More headers to keep beside content type, language, encoding, disposition, location, etag, last-modified, link and retry-after. */
  readonly storeHeaders?: readonly string[];
  /**
   * What of a reply is stored, and replayed: takes out what must not lie in the store. The first caller gets the whole. `attached` (Azure: what was
   * set on output bindings) is part of it, and stays as it is where the answer does not name it. If it throws, the record completes without a reply,
   * with a warning.
   */
  readonly redact?: (reply: HttpReply) => HttpReply;
  /**
   * A streamed reply: `pass` sends it on as it comes, and its record completes without it (later callers get 409, `RESULT_NOT_STORED`);
   * `{ recordUpTo }` reads it first, up to so many bytes, and records it like any other reply. What is longer, and server-sent events, pass. With
   * `recordUpTo` nothing goes out before the stream has ended, or is longer than that; at most what the store takes. Default `pass`; Azure Functions apps are told so at
   * start-up (`startCheck`), or at the first stream.
   */
  readonly streams?: 'pass' | { readonly recordUpTo: number };
  /** Longer bodies are refused with 413 before any work: they have to be read to be hashed. Bytes. Default 1,048,576. */
  readonly maxBodyBytes?: number;
  /** Where the `type` of a problem begins. Default `urn:rerunsafe:problem:`. */
  readonly problemBase?: string;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const isToken: Rule = (value) => (typeof value === 'string' && TOKEN.test(value) ? undefined : 'must be the name of a header');
const areTokens: Rule = (value) =>
  Array.isArray(value) && value.every((item) => isToken(item) === undefined) ? undefined : 'must be an array of names (letters, digits, dashes)';
const areKept: Rule = (value) => {
  const never = Array.isArray(value) ? value.filter((name) => typeof name === 'string' && isNeverKept(name)) : [];
  return areTokens(value) ?? (never.length === 0 ? undefined : `must not name ${never.join(', ')}: never stored, a replay is for another moment`);
};

const isRecording: Rule = (value) => {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  return names.length === 1 && isInteger(1)((value as { recordUpTo?: unknown }).recordUpTo) === undefined
    ? undefined
    : 'must be { recordUpTo: bytes }, at least 1';
};

/** The rules of {@link HttpOptions}, beside those of the guard. */
export const HTTP_RULES: Rules = {
  scope: either(isOneOf('public'), isFunction),
  methods: areTokens,
  key: isFunction,
  required: isBoolean,
  headerName: isToken,
  strict: isBoolean,
  timeOrderedKeys: isBoolean,
  authorizeReplay: isFunction,
  streams: either(isOneOf('pass'), isRecording),
  fingerprint: either((value) => (value === false ? undefined : 'must be false'), isFunction),
  keep: isFunction,
  storeHeaders: areKept,
  redact: isFunction,
  maxBodyBytes: isInteger(1),
  problemBase: isName(500),
};

/** Checked options with their defaults. */
export interface BoundHttp<R> {
  readonly guard: Guard<KeptReply>;
  readonly scope: HttpOptions<R>['scope'];
  readonly methods: ReadonlySet<string>;
  readonly key: HttpOptions<R>['key'];
  readonly required: boolean;
  readonly headerName: string;
  readonly strict: boolean;
  readonly timeOrderedKeys: boolean;
  readonly authorizeReplay: HttpOptions<R>['authorizeReplay'];
  readonly streams: HttpOptions<R>['streams'];
  readonly fingerprint: HttpOptions<R>['fingerprint'];
  /** False: nobody looks at the body, an adapter need not read it. */
  readonly hashesBody: boolean;
  readonly keep: HttpOptions<R>['keep'];
  /** What is stored of a reply. */
  readonly toKept: (reply: HttpReply) => KeptReply;
  readonly maxBodyBytes: number;
  readonly problemBase: string;
  readonly onThrow: GuardOptions['onThrow'];
  /** An error of a guarded call inside `onUnknown` or `authorizeReplay`: no refusal of this request. */
  isForeign(error: object): boolean;
}

/**
 * Checks the options of an HTTP wrapper, once.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` with everything that is wrong.
 */
export function bindHttp<R>(what: string, options: HttpOptions<R>): BoundHttp<R> {
  const { onUnknown, onThrow, authorizeReplay } = options ?? {};
  const checked = guardFrom(what, options, HTTP_RULES, ['scope']);
  if (options.methods?.length === 0) throw invalidOptions(what, ['methods is empty: nothing would be guarded']);
  const storeHeaders = new Set([...KEPT_HEADERS, ...(options.storeHeaders ?? []).map((name) => name.toLowerCase())]);
  const { streams, store, operation } = options;
  if (typeof streams === 'object' && streams.recordUpTo > store.limits.maxRecordBytes) {
    throw invalidOptions(what, [`streams.recordUpTo must be at most ${store.limits.maxRecordBytes}: more the store does not take`]);
  }
  const toKept = (reply: HttpReply): KeptReply =>
    keptOrNot(
      () => redacted(reply, options.redact),
      storeHeaders,
      // The work is done and goes on to its caller; nobody else would hear of this.
      (error) => process.emitWarning(`${operation}: redact failed, so the reply is not kept. ${String(error)}`, { code: 'RERUNSAFE_REDACT' }),
    );
  const foreign = new WeakSet<object>();
  const { onUnknown: _, onThrow: __, ...rest } = checked;
  const guard: Guard<KeptReply> = {
    ...rest,
    onUnknown: typeof onUnknown === 'function' ? (run) => askKept(onUnknown, run, toKept, foreign) : (onUnknown ?? 'retry'),
    // A reply that is not kept was judged already, so that nobody is asked twice.
    onThrow: (error) => (error instanceof Judged ? error.verdict : onThrow?.(error)),
  };
  return {
    guard,
    scope: options.scope,
    methods: new Set((options.methods ?? ['POST', 'PATCH']).map((method) => method.toUpperCase())),
    key: options.key,
    required: options.required ?? true,
    headerName: options.headerName ?? 'Idempotency-Key',
    strict: options.strict ?? false,
    timeOrderedKeys: (options.timeOrderedKeys ?? true) && options.key === undefined,
    authorizeReplay: authorizeReplay && ((request, reply) => looked(() => authorizeReplay(request, reply), foreign)),
    streams: options.streams,
    fingerprint: options.fingerprint,
    hashesBody: options.fingerprint === undefined,
    keep: options.keep,
    toKept,
    maxBodyBytes: options.maxBodyBytes ?? 1_048_576,
    problemBase: options.problemBase ?? 'urn:rerunsafe:problem:',
    onThrow,
    isForeign: (error) => foreign.has(error),
  };
}

/** The work is done: a redaction that fails must neither undo it nor store what was to be taken out. */
function redacted(reply: HttpReply, redact: ((reply: HttpReply) => HttpReply) | undefined): HttpReply {
  // A copy: what is taken out of it in place must still reach the first caller.
  if (redact === undefined || reply.streamed) return reply;
  // Outputs are part of the outcome: one that the redaction does not speak of must not be lost on a replay.
  const { attached, ...redacted } = { attached: reply.attached, ...redact({ ...reply, body: Uint8Array.from(reply.body) }) };
  return attached === undefined ? redacted : { ...redacted, attached };
}

/** A reply that is not kept on its way through the guarded work: nothing else tells the record "this did not succeed". */
export class Judged extends HttpNotKept {
  readonly verdict: ReturnType<NonNullable<GuardOptions['onThrow']>>;

  constructor(reply: HttpReply, verdict: Judged['verdict']) {
    super(reply);
    this.verdict = verdict;
  }
}

async function looked(look: () => boolean | Promise<boolean>, foreign: WeakSet<object>): Promise<boolean> {
  try {
    return await look();
  } catch (error) {
    if (isRerunSafeError(error)) foreign.add(error);
    throw error;
  }
}

async function askKept(
  onUnknown: (run: Run<HttpReply>) => UnknownAnswer<HttpReply> | Promise<UnknownAnswer<HttpReply>>,
  run: Run<KeptReply>,
  toKept: (reply: HttpReply) => KeptReply,
  foreign: WeakSet<object>,
): Promise<UnknownAnswer<KeptReply>> {
  const raised = new WeakSet<object>();
  const watch = { raised: (error: object) => void raised.add(error) };
  let answer: UnknownAnswer<HttpReply>;
  try {
    answer = await onUnknown(handOut<HttpReply, KeptReply>(run, toKept, watch));
  } catch (error) {
    if (isRerunSafeError(error) && !raised.has(error) && run.signal.reason !== error) foreign.add(error);
    throw error;
  }
  return typeof answer === 'object' && answer !== null && 'done' in answer ? { done: toKept(answer.done) } : answer;
}
