/**
 * What a call would do, without doing or writing anything.
 *
 * @module
 */
import { decide } from '../../core/decide.ts';
import { keyParts, recordId, scopeParts } from '../../core/key.ts';
import { EXIT } from '../exit-codes.ts';
import type { OpenPlace } from '../places/open.ts';
import { BLOCKED, mustHaveStore, unfinished } from './once.ts';
import type { Report } from './report.ts';
import type { LockSpec, OnceSpec } from './spec.ts';

export async function wouldRun(spec: OnceSpec, key: string, fingerprint: string | undefined, place: OpenPlace): Promise<Report> {
  const store = mustHaveStore(place);
  const { operation, onUnknown, maxAttempts } = spec;
  const id = recordId(operation, scopeParts(spec.scope, operation), keyParts(key, operation));
  const about = { mode: 'once', operation, key, id, store: place.shown } as const;
  const facts = { nowMs: store.clock.nowMs(), uncertaintyMs: store.clock.uncertaintyMs };
  const standing = await store.read(id);
  const decision = decide(standing, { kind: 'begin', owners: new Set(), fingerprint, onUnknown, maxAttempts }, facts);
  switch (decision.kind) {
    case 'claim':
      return { ...about, became: 'would-run', exitCode: EXIT.ok, message: `would run, as attempt ${decision.attempt}`, attempt: decision.attempt };
    case 'replay': {
      const asks = spec.creates.length + spec.verify.length > 0;
      const message = asks ? 'done before; would run again only if --creates or --verify do not hold' : 'already done; would not run';
      return { ...about, became: 'already-done', exitCode: spec.doneExit, message };
    }
    case 'key-reused': {
      const message = 'this key was used with other arguments, files or values';
      const before = standing === undefined || spec.onMismatch === 'fail' ? undefined : unfinished(spec, standing, store.clock.uncertaintyMs);
      if (before !== undefined) return { ...about, ...before };
      if (spec.onMismatch === 'rerun') return { ...about, became: 'would-run', exitCode: EXIT.ok, message: `${message}: would run again` };
      return { ...about, became: 'mismatch', exitCode: EXIT.mismatch, message: `${message}: would not run` };
    }
    case 'in-flight': {
      const { retryAfterMs } = decision;
      return { ...about, became: 'busy', exitCode: spec.busyExit, message: 'somebody else is running it', retryAfterMs };
    }
    case 'blocked':
    case 'block':
      return { ...about, became: 'blocked', exitCode: EXIT.blocked, message: `${BLOCKED[decision.why] ?? decision.why}: would not run` };
    case 'ours':
      throw new Error('nobody has an earlier try of a dry run');
  }
}

export async function wouldLock(spec: LockSpec, name: string, slotMs: number | undefined, place: OpenPlace): Promise<Report> {
  const standing = await place.leases.read(name);
  const about = {
    mode: spec.mode,
    lease: name,
    store: place.shown,
    ...(slotMs === undefined ? {} : { slot: new Date(slotMs).toISOString() }),
  } as const;
  if (standing?.held) return { ...about, became: 'busy', exitCode: spec.busyExit, message: `${standing.label ?? 'somebody else'} holds the lock` };
  const last = standing?.lastSlot;
  if (slotMs !== undefined && last !== undefined && last >= slotMs) {
    if (last === slotMs) return { ...about, became: 'already-done', exitCode: spec.doneExit, message: 'this slot is done; would not run' };
    if (spec.onPassed === 'skip')
      return {
        ...about,
        became: 'slot-passed',
        exitCode: EXIT.blocked,
        message: `a later slot (${new Date(last).toISOString()}) is done already; would not run`,
      };
  }
  return { ...about, became: 'would-run', exitCode: EXIT.ok, message: 'would run' };
}
