/**
 * One guarded call as it is seen from outside: its span, and what is measured of it.
 *
 * @module
 */
import { type Attributes, type Context, context, type Span, trace } from '@opentelemetry/api';
import type { RunEvent, RunEventName } from '../../core/events.ts';
import type { ObservedCall } from '../../core/observed.ts';
import { definedOf } from './defined.ts';
import { type End, failSpan, markFailed } from './ended-span.ts';
import { errorName, isAbort, ourCode } from './error-facts.ts';
import { ATTRIBUTES } from './metrics.ts';
import { type Sink, secondsSince } from './sink.ts';

/** Events after which a call goes on. All others say how it ends, the last one in the end. */
const ON_THE_WAY: ReadonlySet<RunEventName> = new Set(['claimed', 'taken-over', 'record-vanished', 'step-not-kept']);

/** An event, `cancelled` (by its caller, or before anything was said), or one that no event says: then `unguarded`, `unknown`. */
export type RunOutcome = RunEventName | 'cancelled';

export class RunWatch {
  readonly span: Span;
  token: number | undefined;
  readonly #call: Extract<ObservedCall, { kind: 'run' }>;
  readonly #sink: Sink;
  readonly #startedAtMs = performance.now();
  #claimedAtMs: number | undefined;
  #outcome: RunOutcome | undefined;

  constructor(call: Extract<ObservedCall, { kind: 'run' }>, sink: Sink, keys: boolean) {
    this.#call = call;
    this.#sink = sink;
    const { operation, id, label } = call;
    const key = keys && label !== undefined ? { 'rerunsafe.key': label } : {};
    this.span = sink.startSpan(`run ${operation}`, { attributes: { ...this.#where, 'rerunsafe.id': id, ...key } });
  }

  /** In which the call is to run: what it does has this span for its parent. */
  get context(): Context {
    return trace.setSpan(context.active(), this.span);
  }

  isAbout({ id, operation }: RunEvent): boolean {
    return this.#call.id === id && this.#call.operation === operation;
  }

  hear(event: RunEvent): void {
    const { event: name, attempt, token } = event;
    this.token = token ?? this.token;
    if (!ON_THE_WAY.has(name)) this.#outcome = name;
    if (name === 'claimed' || name === 'taken-over' || name === 'unguarded') this.#claimed();
    this.span.addEvent(`rerunsafe.${name}`, factsOf(event));
    this.span.setAttributes(definedOf({ 'rerunsafe.attempt': attempt, 'rerunsafe.token': token }));
  }

  /** A transaction that is done again claims again; it is one attempt. */
  #claimed(): void {
    if (this.#claimedAtMs !== undefined) return;
    this.#claimedAtMs = performance.now();
    this.#sink.record('rerunsafe.attempt.active', 1, this.#where);
  }

  end(end: End): void {
    const outcome = this.#outcome ?? this.#unsaid(end);
    const attributes = { ...this.#where, [ATTRIBUTES.outcome]: outcome };
    this.#sink.record('rerunsafe.run.duration', secondsSince(this.#startedAtMs), attributes);
    if (this.#claimedAtMs !== undefined) {
      this.#sink.record('rerunsafe.attempt.active', -1, this.#where);
      this.#sink.record('rerunsafe.attempt.duration', secondsSince(this.#claimedAtMs), attributes);
    }
    try {
      this.#describe(end, outcome);
    } finally {
      this.span.end();
    }
  }

  #describe(end: End, outcome: RunOutcome): void {
    this.span.setAttributes({ [ATTRIBUTES.outcome]: outcome, 'rerunsafe.replayed': outcome === 'replayed' || outcome === 'waited' });
    const { kind, error } = ('error' in end ? { kind: 'failed', error: end.error } : (end.value ?? {})) as { kind?: unknown; error?: unknown };
    if (kind === 'failed') failSpan(this.span, error);
    if (kind === 'blocked') markFailed(this.span, 'BLOCKED');
  }

  /** Nothing was told of how it ended. */
  #unsaid(end: End): RunOutcome {
    if (!('error' in end)) return this.#claimedAtMs === undefined ? 'unguarded' : 'completed';
    const { error } = end;
    if (ourCode(error) === 'LEASE_LOST') return 'lease-lost';
    if (isAbort(error) || this.#claimedAtMs === undefined) return 'cancelled';
    return 'unknown';
  }

  get #where(): Attributes {
    return { [ATTRIBUTES.operation]: this.#call.operation, [ATTRIBUTES.store]: this.#call.store };
  }
}

const factsOf = ({ attempt, token, error, notKept, notKeptAt, step }: RunEvent): Attributes =>
  definedOf({
    'rerunsafe.attempt': attempt,
    'rerunsafe.token': token,
    'rerunsafe.step.name': step,
    'rerunsafe.not_kept': notKept,
    'rerunsafe.not_kept.at': notKeptAt,
    [ATTRIBUTES.errorType]: error === undefined ? undefined : errorName(error),
  });
