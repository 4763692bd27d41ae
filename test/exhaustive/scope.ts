import type { RecordStore } from '../../src/core/ports.ts';
import type { Caller } from './caller.ts';
import type { World } from './world.ts';

/**
 * What can go wrong:
 * `lost-answer`: applied, and nobody hears of it · `lost-request`: never applied, and nobody knows · `unavailable`: refused, and said so ·
 * `duplicate`: a copy of a write lands at any other time, before it or after · `late`: given up, and lands at any later time ·
 * `slow`: as late as it likes, beyond the limit its caller set for it · `crash`: no event reaches the caller any more ·
 * `pause`: nothing of the caller runs for longer than a lease · `freeze`: likewise, and its monotonic clock stands still ·
 * `slow-work`: the work takes longer than its lease.
 */
export type Fault = 'lost-answer' | 'lost-request' | 'unavailable' | 'duplicate' | 'late' | 'slow' | 'crash' | 'pause' | 'freeze' | 'slow-work';

/** What the callers do, and how what came of it is judged. One for each run. */
export interface Play {
  /** One call from its beginning to its end. Never rejects. */
  call(caller: Caller): Promise<void>;
  /** Nothing can happen any more, and then a fresh caller came, without faults. */
  ended(last: Caller): void;
  /** What became of everybody: to compare searches by. */
  summary(): string;
}

export interface Scope {
  readonly name: string;
  readonly kind: 'record' | 'lease';
  readonly callers: number;
  readonly faults: readonly Fault[];
  /** How many of them in one run. */
  readonly mostFaults: number;
  /** Without faults: how often each calls, when its call has brought it nothing. */
  readonly calls: number;
  readonly leaseMs: number;
  /** Leases are renewed: time passes also while nobody waits, up to here. */
  readonly horizonMs?: number;
  readonly play: (world: World) => Play;
  /** The store as it is; a wrong one in controls. */
  readonly store: (store: RecordStore, world: World) => RecordStore;
}
