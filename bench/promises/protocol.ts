/**
 * What the command and its worker processes say to each other: plain JSON over the channel of `fork`.
 *
 * @module
 */
export type PeerId =
  | 'rerunsafe-dynamodb'
  | 'rerunsafe-redis'
  | 'powertools'
  | 'node-idempotency'
  | 'leases-dynamodb'
  | 'leases-redis'
  | 'redlock'
  | 'semaphore-mutex'
  | 'semaphore-redlock';

/** Where a worker finds everything; handed to it when it starts. */
export interface Place {
  readonly peer: PeerId;
  /** Of the worker, as its effects are signed. */
  readonly who: string;
  readonly dynamodb: string;
  /** The first is the one for those who use one. */
  readonly redis: readonly string[];
  /** Of rerunsafe, and of the resource that its leases guard. */
  readonly table: string;
  readonly powertoolsTable: string;
  /** The file that effects are appended to. */
  readonly witness: string;
}

export interface Terms {
  /** How long an attempt is given: the lease; in Lambda what is left to the invocation. */
  readonly leaseMs: number;
  /** How long a finished record is remembered. */
  readonly keepMs: number;
  /** A duplicate waits for the first, by the peer's own means where it has them. */
  readonly wait: boolean;
  /** After a crash; only rerunsafe has a choice. */
  readonly onUnknown: 'retry' | 'block' | 'ask';
}

export interface CallOrder {
  readonly key: string;
  readonly amount: number;
  readonly terms: Terms;
  /** After its effect. `hold`: wait to be told. */
  readonly ends: 'return' | 'hold';
  readonly afterMs: number;
}

export type Order =
  | ({ readonly do: 'call'; readonly n: number } & CallOrder)
  /** To the work of that call. */
  | { readonly do: 'go on'; readonly n: number; readonly by: 'return' | 'throw' }
  | { readonly do: 'acquire'; readonly n: number; readonly name: string; readonly leaseMs: number }
  /** Blocks the whole process for so long, as a collection of garbage would, and asks in the very next line whether the lock is held. */
  | { readonly do: 'stall'; readonly n: number; readonly name: string; readonly ms: number }
  | { readonly do: 'held' | 'write' | 'extend' | 'release'; readonly n: number; readonly name: string };

/** What a caller was told. `failed`: anything else that was thrown. */
export type Answer =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'in-progress' | 'other-payload' | 'unknown' }
  | { readonly kind: 'failed'; readonly why: string };

/** `token`: undefined where the peer has none. */
export type LockAnswer = { readonly done: boolean; readonly token?: number | undefined; readonly why?: string };

export type Said =
  | { readonly say: 'ready' }
  /** The effect is in the file. `again`: the work was told that an earlier attempt had begun. */
  | { readonly say: 'at work'; readonly n: number; readonly again: boolean }
  | { readonly say: 'answer'; readonly n: number; readonly answer: Answer | LockAnswer };
