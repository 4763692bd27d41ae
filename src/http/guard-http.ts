/**
 * One HTTP request, guarded: the same key gives the same reply.
 *
 * The IETF draft *The Idempotency-Key HTTP Header Field* (-07) is the base. The order of the checks is part of the contract: key, scope, size,
 * then the record, where another payload (422) comes before "still going on" (409).
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { isRerunSafeError, otherWrapper, storeMisconfigured } from '../core/errors.ts';
import type { Call } from '../core/guard.ts';
import { taken } from '../core/key.ts';
import { unguardedRun } from '../core/live-run.ts';
import { invalidOptions } from '../core/options.ts';
import type { Run } from '../core/run.ts';
import { type RunResult, runGuarded, unwrap } from '../core/run-once.ts';
import { GuardedHandler, type HttpHandle } from './guarded-handler.ts';
import { isKeptReply, type KeptReply, replyOf } from './kept-reply.ts';
import { parseKeyHeader } from './key-header.ts';
import { HttpNotKept, type HttpReply, type HttpRequestView } from './message.ts';
import type { BoundHttp } from './options.ts';
import { type ProblemCode, problemReply } from './problem.ts';
import { isRemembered } from './remembered.ts';
import { requestInput } from './request-fingerprint.ts';
import { isPastRetention } from './time-ordered-key.ts';

export type { HttpHandle } from './guarded-handler.ts';
export { HttpNotKept, type HttpReply, type HttpRequestView } from './message.ts';
export { type BoundHttp, bindHttp, HTTP_RULES, type HttpOptions } from './options.ts';

export interface HttpCall extends Pick<Call, 'holder' | 'leaseMs' | 'remainingMs' | 'signal'> {
  /** Told of what a caller gets a 5xx problem for: such a problem says nothing of why. */
  readonly onProblem?: (error: unknown) => void;
  /** Reads what a person said the answer was, in the language of the platform. Throws for what is no answer. */
  readonly replyFrom?: (said: unknown) => HttpReply | Promise<HttpReply>;
}

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
  const scope = bound.scope === 'public' ? undefined : await taken(bound.scope(request));
  if (bound.scope !== 'public' && isMissing(scope)) return refuse('MISSING_SCOPE');
  const read = bound.hashesBody && view.readBody !== undefined ? { ...view, ...(await view.readBody()) } : view;
  if (read.tooLong === true || read.body.byteLength > bound.maxBodyBytes) return refuse('BODY_TOO_LARGE');
  const fingerprint = typeof bound.fingerprint === 'function' ? { own: await bound.fingerprint(request) } : undefined;

  const { retentionMs, store } = bound.guard;
  const tooOld = bound.timeOrderedKeys && isPastRetention(key.key, { nowMs: store.clock.nowMs(), retentionMs });
  let refusal = tooOld ? (): HttpReply => refuse('KEY_EXPIRED') : undefined;
  const work = new GuardedHandler(bound, handle, () => refusal?.());
  try {
    if (fingerprint !== undefined && (typeof fingerprint.own !== 'string' || fingerprint.own === '')) {
      throw invalidOptions('fingerprint', ['it must return a string that is not empty: every request would be the same']);
    }
    const input = bound.hashesBody ? requestInput(read) : undefined;
    const asked: Call = { ...call, key: key.key, scope, input, fingerprint: fingerprint?.own };
    const remembered = tooOld ? await isRemembered(bound.guard, asked) : 'yes';
    if (remembered === 'no') return refuse('KEY_EXPIRED');
    // A person has said that it was not done: age says nothing any more.
    if (remembered === 'to-be-done') refusal = undefined;
    const result = await readable(bound, call, await runGuarded(bound.guard, asked, (run) => work.run(run)));
    if (result.kind === 'completed' && !result.replayed && work.reply !== undefined) return work.reply;
    if (!(await mayBeSeen(bound, request, result, work.began))) return refuse('REPLAY_REFUSED');
    return replyOf(unwrap(bound.guard, result), result.kind === 'completed' && result.replayed);
  } catch (error) {
    if (error instanceof HttpNotKept && error.reply === work.reply) return error.reply;
    const late = !work.began && call.signal?.aborted === true && error === call.signal.reason;
    if (!late && (!isRerunSafeError(error) || work.isOfTheHandler(error) || bound.isForeign(error))) throw error;
    const reply = isRerunSafeError(error) ? problemReply(bound.problemBase, error.code, error) : refuse('WRITE_UNKNOWN');
    if (reply.status >= 500) call.onProblem?.(error);
    return reply;
  }
}

/** What is kept, or what a person said, as a kept reply. */
async function readable<R>(bound: BoundHttp<R>, { replyFrom }: HttpCall, result: RunResult<KeptReply>): Promise<RunResult<KeptReply>> {
  if (result.kind !== 'completed' || isKeptReply(result.value)) return result;
  if (result.resolved === undefined || replyFrom === undefined) throw otherWrapper(bound.guard.operation);
  try {
    if (!hasStatus(result.value)) throw new TypeError('an answer has a status');
    return { ...result, value: bound.toKept(await replyFrom(result.value)) };
  } catch (cause) {
    throw storeMisconfigured(`${bound.guard.operation}: what a person said of it is no answer; say it again with resolveRun and force.`, cause);
  }
}

function ownRun<R>({ guard }: BoundHttp<R>, { remainingMs = () => Number.POSITIVE_INFINITY, signal }: HttpCall): Run<HttpReply> {
  return unguardedRun({ operation: guard.operation, id: randomUUID(), remainingMs, signal });
}

/** Only a plain yes is one: a look that was never finished must not show anything. */
async function mayBeSeen<R>({ authorizeReplay }: BoundHttp<R>, request: R, result: RunResult<KeptReply>, began: boolean): Promise<boolean> {
  // What onUnknown found out is an earlier reply too, though nothing is replayed yet.
  if (authorizeReplay === undefined || !('replayed' in result) || (began && !result.replayed)) return true;
  return (await authorizeReplay(request, { status: result.kind === 'completed' ? result.value.status : 500 })) === true;
}

/** A handler may leave it out, for 200; of a person's word that would make an empty answer out of a slip. */
function hasStatus(said: unknown): boolean {
  const { status, statusCode } = (said ?? {}) as { readonly status?: unknown; readonly statusCode?: unknown };
  return typeof (status ?? statusCode) === 'number';
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

async function keyOf<R>(bound: BoundHttp<R>, request: R, view: HttpRequestView): Promise<{ readonly key: unknown } | 'none' | 'malformed'> {
  if (bound.key !== undefined) {
    const key = await taken(bound.key(request));
    return isMissing(key) ? 'none' : { key };
  }
  const parsed = parseKeyHeader(view.header(bound.headerName), bound.strict);
  return parsed.kind === 'key' ? parsed : parsed.kind;
}
