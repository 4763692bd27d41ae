/**
 * A handler as guarded work.
 *
 * @module
 */
import { verdictOf } from '../core/guard.ts';
import { inRun, type Run } from '../core/run.ts';
import { handOut } from './hand-out.ts';
import { isFinal, type KeptReply } from './kept-reply.ts';
import { HttpNotKept, type HttpReply } from './message.ts';
import { type BoundHttp, Judged } from './options.ts';

/** `passed`: the request passes through; its run is unguarded, with derived keys that no other request has. */
export type HttpHandle = (run: Run<HttpReply>, passed: boolean) => Promise<HttpReply>;

/** The handler as work: what it returned, what it threw, and what of that was not its own. */
export class GuardedHandler<R> {
  readonly #bound: BoundHttp<R>;
  readonly #handle: HttpHandle;
  readonly #refusal: () => HttpReply | undefined;
  readonly #raised = new WeakSet<object>();
  #signal: AbortSignal | undefined;
  #thrown: { readonly error: unknown } | undefined;
  #returned: HttpReply | undefined;
  #committed: HttpReply | undefined;

  /** `refusal`: what is answered instead of a first attempt, whose record was forgotten between the look at it and the claim. */
  constructor(bound: BoundHttp<R>, handle: HttpHandle, refusal: () => HttpReply | undefined = () => undefined) {
    this.#bound = bound;
    this.#handle = handle;
    this.#refusal = refusal;
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
    const refused = run.attempt === 1 ? this.#refusal() : undefined;
    if (refused !== undefined) {
      this.#returned = refused;
      throw new Judged(refused, 'withdraw');
    }
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
    if (reply.rejected) throw new Judged(reply, 'withdraw');
    if (this.#isKept(reply)) return this.#kept(reply);
    const verdict = this.#judge(reply);
    if (verdictOf(verdict)?.as === 'remember') return this.#kept(reply);
    throw new Judged(reply, verdict);
  }

  /** An error of a nested guarded call is the handler's own; what our run raised is not, nor our signal's reason. */
  isOfTheHandler(error: object): boolean {
    return this.#thrown !== undefined && this.#thrown.error === error && !this.#raised.has(error) && this.#signal?.reason !== error;
  }

  #kept(reply: HttpReply): KeptReply {
    return this.#bound.toKept(reply);
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

  #judge(reply: HttpReply): Judged['verdict'] {
    try {
      return this.#bound.onThrow?.(new HttpNotKept(reply));
    } catch {
      return 'unknown';
    }
  }
}
