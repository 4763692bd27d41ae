/**
 * One HTTP request, guarded: the same key gives the same reply.
 *
 * The IETF draft *The Idempotency-Key HTTP Header Field* (-07) is the base. The order of the checks is part of the contract: key, scope, size,
 * then the record, where another payload (422) comes before "still going on" (409).
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { isRerunSafeError, otherWrapper } from '../core/errors.ts';
import type { Call, ThrowVerdict } from '../core/guard.ts';
import { unguardedRun } from '../core/live-run.ts';
import { invalidOptions } from '../core/options.ts';
import { inRun, type Run } from '../core/run.ts';
import { runGuarded, unwrap } from '../core/run-once.ts';
import { handOut } from './hand-out.ts';
import { isFinal, isKeptReply, type KeptReply, keptReply, replyOf } from './kept-reply.ts';
import { parseKeyHeader } from './key-header.ts';
import { HttpNotKept, type HttpReply, type HttpRequestView } from './message.ts';
import { type BoundHttp, Judged } from './options.ts';
import { type ProblemCode, problemReply } from './problem.ts';
import { requestInput } from './request-fingerprint.ts';

export { HttpNotKept, type HttpReply, type HttpRequestView } from './message.ts';
export { type BoundHttp, bindHttp, HTTP_RULES, type HttpOptions } from './options.ts';

export type HttpCall = Pick<Call, 'holder' | 'leaseMs' | 'remainingMs' | 'signal'>;
/** `passed`: the request passes through; its run is unguarded, with derived keys that no other request has. */
export type HttpHandle = (run: Run<HttpReply>, passed: boolean) => Promise<HttpReply>;

/**
 * Answers always; throws only what the handler, or a function among the options, threw.
 *
 * The handler's own reply comes back as the very object it returned.
 */
export async function guardHttp<R>(bound: BoundHttp<R>, request: R, view: HttpRequestView, call: HttpCall, handle: HttpHandle): Promise<HttpReply> {
  const passThrough = (): Promise<HttpReply> => handle(ownRun(bound, call), true);
  if (!bound.methods.has(view.method)) return passThrough();
  const refuse = (code: ProblemCode): HttpReply => problemReply(bound.problemBase, code);
  const key = await keyOf(bound, request, view);
  if (key === 'none') return bound.required ? refuse('MISSING_KEY') : passThrough();
  if (key === 'malformed') return refuse('MALFORMED_KEY');
  const scope = bound.scope === 'public' ? undefined : await bound.scope(request);
  if (bound.scope !== 'public' && isMissing(scope)) return refuse('MISSING_SCOPE');
  const read = bound.hashesBody && view.readBody !== undefined ? { ...view, ...(await view.readBody()) } : view;
  if (read.tooLong === true || read.body.byteLength > bound.maxBodyBytes) return refuse('BODY_TOO_LARGE');
  const fingerprint = typeof bound.fingerprint === 'function' ? { own: await bound.fingerprint(request) } : undefined;

  const work = new GuardedHandler(bound, handle);
  try {
    if (fingerprint !== undefined && typeof fingerprint.own !== 'string') throw invalidOptions('fingerprint', ['it must return a string']);
    const input = bound.hashesBody ? requestInput(read) : undefined;
    const result = await runGuarded(bound.guard, { ...call, key: key.key, scope, input, fingerprint: fingerprint?.own }, (run) => work.run(run));
    if (result.kind === 'completed' && !result.replayed && work.reply !== undefined) return work.reply;
    const kept = unwrap(bound.guard, result);
    if (!isKeptReply(kept)) throw otherWrapper(bound.guard.operation);
    return replyOf(kept, result.kind === 'completed' && result.replayed);
  } catch (error) {
    if (error instanceof HttpNotKept && error.reply === work.reply) return error.reply;
    if (!work.began && call.signal?.aborted === true && error === call.signal.reason) return problemReply(bound.problemBase, 'WRITE_UNKNOWN');
    if (!isRerunSafeError(error) || work.isOfTheHandler(error) || bound.isOfOnUnknown(error)) throw error;
    return problemReply(bound.problemBase, error.code, error);
  }
}

/** The handler as work: what it returned, what it threw, and what of that was not its own. */
class GuardedHandler<R> {
  readonly #bound: BoundHttp<R>;
  readonly #handle: HttpHandle;
  readonly #raised = new WeakSet<object>();
  #signal: AbortSignal | undefined;
  #thrown: { readonly error: unknown } | undefined;
  #returned: HttpReply | undefined;
  #committed: HttpReply | undefined;

  constructor(bound: BoundHttp<R>, handle: HttpHandle) {
    this.#bound = bound;
    this.#handle = handle;
  }

  /** With all its headers, cookies too: only a replay goes without. */
  get reply(): HttpReply | undefined {
    return this.#committed ?? this.#returned;
  }

  get began(): boolean {
    return this.#signal !== undefined;
  }

  async run(run: Run<KeptReply>): Promise<KeptReply> {
    this.#signal = run.signal;
    const handed = handOut<HttpReply, KeptReply>(run, (reply) => this.#kept(reply), {
      committed: (reply) => {
        this.#committed = reply;
      },
      raised: (error) => this.#raised.add(error),
    });
    let reply: HttpReply;
    try {
      reply = await inRun(handed as Run, () => this.#handle(handed, false));
    } catch (error) {
      this.#thrown = { error };
      throw error;
    }
    this.#returned = reply;
    if (this.#isKept(reply)) return this.#kept(reply);
    const verdict = this.#judge(reply);
    if (verdict === 'remember') return this.#kept(reply);
    throw new Judged(reply, verdict);
  }

  /** An error of a nested guarded call is the handler's own; what our run raised is not, nor our signal's reason. */
  isOfTheHandler(error: object): boolean {
    return this.#thrown !== undefined && this.#thrown.error === error && !this.#raised.has(error) && this.#signal?.reason !== error;
  }

  #kept(reply: HttpReply): KeptReply {
    return keptReply(reply, this.#bound.storeHeaders);
  }

  #isKept(reply: HttpReply): boolean {
    try {
      const chosen: unknown = this.#bound.keep?.(reply);
      return typeof chosen === 'boolean' ? chosen : isFinal(reply.status);
    } catch {
      // The work is done: a rule that fails must not make it run again.
      return isFinal(reply.status);
    }
  }

  #judge(reply: HttpReply): ThrowVerdict | undefined {
    try {
      return this.#bound.onThrow?.(new HttpNotKept(reply));
    } catch {
      return 'unknown';
    }
  }
}

function ownRun<R>({ guard }: BoundHttp<R>, { remainingMs = () => Number.POSITIVE_INFINITY, signal }: HttpCall): Run<HttpReply> {
  return unguardedRun({ operation: guard.operation, id: randomUUID(), remainingMs, signal });
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

async function keyOf<R>(bound: BoundHttp<R>, request: R, view: HttpRequestView): Promise<{ readonly key: unknown } | 'none' | 'malformed'> {
  if (bound.key !== undefined) {
    const key = await bound.key(request);
    return isMissing(key) ? 'none' : { key };
  }
  const parsed = parseKeyHeader(view.header(bound.headerName), bound.strict);
  return parsed.kind === 'key' ? parsed : parsed.kind;
}
