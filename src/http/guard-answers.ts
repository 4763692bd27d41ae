/**
 * Between a platform's answers and the replies of the engine: what both adapters have in common.
 *
 * @module
 */
import { inRun, type Run } from '../core/run.ts';
import { type BoundHttp, guardHttp, type HttpCall, type HttpReply, type HttpRequestView } from './guard-http.ts';
import { handOut } from './hand-out.ts';
import { isRejected } from './reject.ts';

export interface Answering<A> {
  readonly handle: (run: Run<A>) => A | Promise<A>;
  /** An answer as a reply to keep. */
  readonly replyFrom: (answer: A) => HttpReply | Promise<HttpReply>;
}

export type Guarded<A, H extends HttpReply> =
  /** Nothing was guarded: not a byte of it was looked at. */
  | { readonly kind: 'passed'; readonly answer: A }
  /** The handler's own, first answer. */
  | { readonly kind: 'answered'; readonly answer: A; readonly reply: H }
  /** A replay, or a refusal. */
  | { readonly kind: 'reply'; readonly reply: H };

/** Guards a handler that speaks the platform's language. Throws what the handler threw, and what is wrong with its answer. */
export async function guardAnswers<R, A, H extends HttpReply>(
  bound: BoundHttp<R>,
  request: R,
  view: HttpRequestView,
  call: HttpCall,
  { handle, replyFrom }: Answering<A>,
): Promise<Guarded<A, H>> {
  let passed: { readonly answer: A } | undefined;
  let answered: { readonly answer: A; readonly reply: HttpReply } | undefined;
  let malformed: { readonly reply: HttpReply; readonly error: unknown } | undefined;
  const saying: HttpCall = { ...call, replyFrom: (said) => replyFrom(said as A) };
  const reply = await guardHttp(bound, request, view, saying, async (run, passes) => {
    // Once for each answer: a stream that was committed cannot be read again, and a second reader would take chunks from the first.
    const replies = new Map<A, HttpReply | Promise<HttpReply>>();
    const replyOnce = (answer: A): HttpReply | Promise<HttpReply> => {
      const reply = replies.get(answer) ?? replyFrom(answer);
      replies.set(answer, reply);
      return reply;
    };
    const handed = handOut<A, HttpReply>(run, replyOnce);
    if (passes) {
      passed = { answer: await handle(handed) };
      return WITHOUT_VALUE;
    }
    const answer = await inRun(handed as Run, () => handle(handed));
    const mark = isRejected(answer) ? { rejected: true as const } : {};
    try {
      answered = { answer, reply: { ...(await replyOnce(answer)), ...mark } };
      return answered.reply;
    } catch (error) {
      // The work is done: a reply that cannot be made must not make it run again. It completes without a value, and the caller is told.
      malformed = { reply: { ...WITHOUT_VALUE, ...mark }, error };
      return malformed.reply;
    }
  });
  if (passed !== undefined) return { kind: 'passed', answer: passed.answer };
  if (malformed !== undefined && malformed.reply === reply) throw malformed.error;
  return answered !== undefined && answered.reply === reply
    ? { kind: 'answered', answer: answered.answer, reply: reply as H }
    : { kind: 'reply', reply: reply as H };
}

const WITHOUT_VALUE: HttpReply = { status: 200, headers: [], body: new Uint8Array(), streamed: true };
