/**
 * For those who do not only want to hear what happened, but to stand around it: tracers, whose context has to hold while the work runs. A call that is
 * about to begin is published on `node:diagnostics_channel` as `rerunsafe:call`, with a way to be called around it. Costs nothing while nobody listens.
 *
 * @module
 */
import { channel } from 'node:diagnostics_channel';

/** What is about to begin. Never carries the key, but for `label`: the key as the record shows it to people. */
export type ObservedCall =
  /** From before the claim until the caller has its answer. */
  | { readonly kind: 'run'; readonly operation: string; readonly id: string; readonly store: string; readonly label?: string | undefined }
  /** The work of a step that is really done, not one whose value is kept already. */
  | { readonly kind: 'step'; readonly operation: string; readonly id: string; readonly store: string; readonly step: string }
  /** `withLease` and `singleton`, from before the lease is asked for until it is released. */
  | { readonly kind: 'lease'; readonly name: string; readonly provider: string };

/**
 * The message. `around` is to be called before the subscriber returns. What is handed to it gets the call, to begin it (at once, in a context of its
 * choice) and to see how it ends. What it throws or returns changes nothing: the call begins once, whatever is made of it, and its caller gets what came
 * out of that.
 */
export type CallMessage = ObservedCall & { readonly around: (wrap: (call: () => Promise<unknown>) => unknown) => void };

const calls = channel('rerunsafe:call');

/** Asked first, so that nothing is made for nobody. */
export const isObserved = (): boolean => calls.hasSubscribers;

export function observed<R>(what: ObservedCall, call: () => R | Promise<R>): Promise<R> {
  let begin = once(async () => call());
  const message: CallMessage = {
    ...what,
    around(wrap) {
      const inner = begin;
      begin = once(() => {
        try {
          const made = wrap(inner);
          if (made instanceof Promise) made.catch(warnOnce);
        } catch (error) {
          warnOnce(error);
        }
        return inner();
      });
    },
  };
  calls.publish(message);
  return begin();
}

/** The work of a step, for whoever runs it. */
export function observedStep<S, W extends (...given: never[]) => S | Promise<S>>(
  step: Omit<Extract<ObservedCall, { kind: 'step' }>, 'kind'>,
  work: W,
): W {
  if (!isObserved()) return work;
  return ((...given: Parameters<W>) => observed({ kind: 'step', ...step }, () => work(...given))) as unknown as W;
}

/** Begun by whoever asks first, also from inside of it. */
function once<R>(start: () => Promise<R>): () => Promise<R> {
  let begun: Promise<R> | undefined;
  return () => {
    if (begun !== undefined) return begun;
    let settle: (outcome: Promise<R>) => void = () => {};
    begun = new Promise<R>((resolve) => {
      settle = resolve;
    });
    settle(start());
    return begun;
  };
}

let warned = false;

function warnOnce(error: unknown): void {
  if (warned) return;
  warned = true;
  process.emitWarning(`Who observes the calls has thrown; the call goes on without. ${error}`, { code: 'RERUNSAFE_OBSERVER' });
}
