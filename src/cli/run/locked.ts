/**
 * Modes `lock` and `slot`: the command runs under a named lease, one holder at a time; in mode slot once for each tick of its schedule.
 *
 * @module
 */

import { derivedKey } from '../../core/key.ts';
import { type Lease, type LeaseOptions, withLease } from '../../core/lease.ts';
import { leaseRowId } from '../../core/store-leases.ts';
import { EXIT } from '../exit-codes.ts';
import { holderText, type RunFacts } from '../facts.ts';
import type { OpenPlace } from '../places/open.ts';
import { childEnv } from './child-env.ts';
import type { RunCommand } from './command.ts';
import { CommandEnded, exitCodeOf, verdictOf } from './ended.ts';
import type { Interrupts } from './interrupts.ts';
import type { Report } from './report.ts';
import type { LockSpec } from './spec.ts';

export interface LockedCall {
  readonly spec: LockSpec;
  readonly place: OpenPlace;
  /** Rendered. */
  readonly name: string;
  readonly slotMs?: number;
  readonly facts: RunFacts;
  readonly interrupts: Interrupts;
  readonly run: RunCommand;
}

export async function runLocked(call: LockedCall): Promise<Report> {
  const { spec, place, name, slotMs } = call;
  const slot = slotMs === undefined ? {} : { slot: new Date(slotMs).toISOString() };
  const about = { mode: spec.mode, lease: name, store: place.shown, ...slot } as const;
  const held: { token?: number } = {};
  try {
    const got = await withLease(place.leases, name, optionsOf(call), async (lease) => {
      held.token = lease.token;
      return work(call, lease);
    });
    switch (got.kind) {
      case 'done':
        return { ...about, ...succeeded(call, got), durationMs: got.value, ...held };
      case 'held': {
        const by = got.label === undefined ? 'somebody else' : got.label;
        const retry = got.retryAfterMs === undefined ? {} : { retryAfterMs: got.retryAfterMs };
        return { ...about, became: 'busy', exitCode: spec.busyExit, message: `${by} holds the lock`, ...retry };
      }
      case 'slot-done':
        return {
          ...about,
          became: 'already-done',
          exitCode: spec.doneExit,
          message: `${slot.slot === undefined ? 'this slot' : `the slot ${slot.slot}`} is done; not run again`,
        };
      case 'slot-passed': {
        const message = `a later slot (${new Date(got.lastSlot).toISOString()}) is done already; this one was not run. --on-passed run would`;
        return { ...about, became: 'slot-passed', exitCode: EXIT.blocked, message };
      }
    }
  } catch (error) {
    if (!(error instanceof CommandEnded)) throw error;
    return { ...about, became: verdictOf(error.end), exitCode: exitCodeOf(error.end), message: error.message, ...held };
  }
}

/** What ran beyond its lease may have run beside somebody else. And a slot is done only where that is written down. */
function succeeded({ spec, slotMs }: LockedCall, { released }: { readonly released: 'released' | 'lost' | 'unknown' }): Report {
  if (released === 'released' || (released === 'unknown' && slotMs === undefined)) return { became: 'succeeded', exitCode: EXIT.ok, message: 'done' };
  const slot = slotMs === undefined ? '' : ', and its slot is not marked: it can run again';
  const message =
    released === 'lost' ? `the command succeeded, but its lease was lost meanwhile${slot}` : `the command succeeded, but no answer came${slot}`;
  if (released === 'lost' && spec.child.onLostLease === 'kill') return { became: 'unknown', exitCode: EXIT.guard, message };
  return { became: 'succeeded', exitCode: EXIT.ok, message, saved: false };
}

function optionsOf({ spec, slotMs, facts, interrupts }: LockedCall): LeaseOptions {
  return {
    leaseMs: spec.leaseMs,
    waitMs: spec.waitMs,
    minHoldMs: spec.minHoldMs,
    onPassed: spec.onPassed,
    label: holderText(facts),
    signal: interrupts.signal,
    ...(slotMs === undefined ? {} : { slot: slotMs }),
  };
}

/** How long it took, ms. */
async function work(call: LockedCall, lease: Lease): Promise<number> {
  const { spec, name, slotMs, place } = call;
  // Without a slot each run is a new one, and so is its key.
  const key = derivedKey(leaseRowId(name), slotMs === undefined ? `token/${lease.token}` : `slot/${slotMs}`);
  const env = childEnv({ key, attempt: undefined, fence: lease.fence, kind: 'lease', store: place.url, ...(slotMs === undefined ? {} : { slotMs }) });
  // It may have come while the answer was under way, and is nobody's from here on.
  call.interrupts.signal.throwIfAborted();
  call.interrupts.commandBegins();
  const end = await call.run(env, lease, spec.leaseMs);
  if (end.kind !== 'exited') throw new CommandEnded(end);
  if (end.code !== 0) throw new CommandEnded({ kind: 'failed', code: end.code });
  return end.durationMs;
}
