/**
 * One history for all tests: what callers did and were told, what a store accepted, and what was witnessed outside of it. One line of JSON each.
 *
 * @module
 */
import type { RecordToWrite } from '../../src/core/record.ts';

interface Seen {
  /** The monotonic clock of the host, ms: the same for all its processes. */
  readonly atMs: number;
  /** A process, a thread, or a number. */
  readonly caller: string;
  /** Of the run (the id of its record, where requests are noted too); the name of the lease. */
  readonly key: string;
}

/** What a store keeps of a record, as far as a promise depends on it. */
export type Kept = Pick<RecordToWrite, 'state' | 'owner' | 'revision' | 'token' | 'attempt' | 'leaseMs' | 'retentionMs' | 'holder'>;

/** What a caller was shown of a row. null: it is absent. */
export type Standing = { readonly version: string; readonly revision: string; readonly token: number } | null;

/** What was asked for: a whole run, one request to a store, a move of a named lease's holder, or a write under a fence. */
export interface Questions {
  readonly run: { readonly input?: string };
  readonly read: object;
  readonly create: { readonly record: Kept };
  readonly replace: { readonly record: Kept; readonly over: string };
  readonly delete: { readonly over: string };
  readonly acquire: object;
  readonly renew: { readonly token: number };
  readonly release: { readonly token: number };
  readonly 'fenced-read': { readonly token: number };
  readonly 'fenced-write': { readonly token: number; readonly number: number };
}
export type Op = keyof Questions;

/** What a caller of a run was told. `saved: false` is the named exception: nobody else can be told of it. */
export type Told =
  | { readonly kind: 'completed'; readonly value: unknown; readonly attempt: number; readonly replayed: boolean; readonly saved: boolean }
  | { readonly kind: 'failed'; readonly value: string; readonly replayed: boolean };

export type Answered =
  | { readonly ok: true; readonly version: string; readonly token?: number }
  | { readonly ok: false; readonly current: Standing }
  | { readonly ok: false; readonly tooLarge: true };

export interface Answers {
  readonly run: Told;
  readonly read: Standing;
  readonly create: Answered;
  readonly replace: Answered;
  readonly delete: Answered;
  /** By its own clock it holds until then. */
  readonly acquire: { readonly token: number; readonly untilMs: number };
  readonly renew: { readonly untilMs: number };
  readonly release: object;
  readonly 'fenced-read': object;
  readonly 'fenced-write': object;
}

export type Invoke = Seen & { readonly what: 'invoke'; readonly n: string } & { [O in Op]: { readonly op: O } & Questions[O] }[Op];
export type Ok = Seen & { readonly what: 'ok'; readonly n: string; readonly answer: Answers[Op] };
/** It did not happen, and the caller was told why: `IN_FLIGHT`, `BLOCKED`, `STORE_UNAVAILABLE`. */
export type Fail = Seen & {
  readonly what: 'fail';
  readonly n: string;
  readonly code: string;
  readonly attempt?: number;
  readonly storedToken?: number;
};
/** It may have happened, or may happen yet. An `invoke` that nothing follows is the same: its caller was killed. */
export type Unknown = Seen & { readonly what: 'unknown'; readonly n: string; readonly code?: string };

/** The store took it, seen from inside. `fromMs`: from when its lease counts. No record: the row is not there any more. */
export type Accepted = Seen & {
  readonly what: 'accepted';
  readonly fromMs: number;
  readonly record?: Kept;
  /** A person had the last word. `forced`: without waiting for a lease. `corrects`: that was a person's word too. */
  readonly person?: { readonly did: 'resolve' | 'forget'; readonly forced?: boolean; readonly corrects?: boolean };
  /** Nobody wrote it: a server took over that had not seen the last writes. */
  readonly setBack?: boolean;
};

/** The work has begun. `untilMs`: by its own clock it holds its lease so long. */
export type Began = Seen & { readonly what: 'began'; readonly attempt: number; readonly untilMs?: number };
/** The work has thrown what declares it a failure. */
export type GaveUp = Seen & { readonly what: 'gave-up'; readonly attempt: number };
/** `sent`: the key that the far side was given. */
export type Effect = Seen & {
  readonly what: 'effect';
  readonly attempt: number;
  readonly step: string;
  readonly sent: string;
  readonly value: string;
};
/** The far side was asked whether that has happened. */
export type Asked = Seen & { readonly what: 'asked'; readonly attempt: number; readonly step: string; readonly sent: string };
/** The work was told that the step is done. */
export type Resolved = Seen & { readonly what: 'resolved'; readonly attempt: number; readonly step: string; readonly value: string };

/** Just before it happens. From outside: whatever the process is doing. */
export type Struck = Seen & { readonly what: 'struck'; readonly signal: 'SIGKILL' | 'SIGSTOP'; readonly point: string };
/** After a stop past its lease: what `assertHeld` said, and what became of the signal. */
export type Woke = Seen & { readonly what: 'woke'; readonly token: number; readonly held: string; readonly aborted: boolean };
/** An unhandled rejection, a timer, a socket. */
export type LeftBehind = Seen & { readonly what: 'left-behind'; readonly thing: string };

export type Event = Invoke | Ok | Fail | Unknown | Accepted | Began | GaveUp | Effect | Asked | Resolved | Struck | Woke | LeftBehind;

type Without<E, K extends PropertyKey> = E extends unknown ? Omit<E, K> : never;
/** An event whose time is now. */
export type Note = Without<Event, 'atMs'>;
export type Question = Without<Invoke, 'atMs' | 'what' | 'n'>;
export type Ended = Without<Ok | Fail | Unknown, keyof Seen | 'n'>;

export const hostMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export const of = <W extends Event['what']>(events: readonly Event[], ...what: W[]): Extract<Event, { what: W }>[] =>
  events.filter((event): event is Extract<Event, { what: W }> => (what as string[]).includes(event.what));
