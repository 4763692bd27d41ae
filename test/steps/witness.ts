/**
 * The calls of these runs, and the far side that their effects are at: both in one history.
 *
 * @module
 */
import type { RunResult } from '../../src/index.ts';
import { type Call, callsOf, only } from '../history/calls.ts';
import { type Effect, type Ended, type Event, of } from '../history/format.ts';
import type { History } from '../history/log.ts';

/** What the far side has under that key. */
export const foundBy = (history: History, sent: string): Effect | undefined => of(history.events(), 'effect').find((effect) => effect.sent === sent);

/** What a caller was told, as the history keeps it. */
export function toldOf(result: RunResult<string[]>): Ended {
  switch (result.kind) {
    case 'completed': {
      const { kind, value, attempt, replayed, saved } = result;
      return { what: 'ok', answer: { kind, value, attempt, replayed, saved } };
    }
    case 'failed':
      return { what: 'ok', answer: { kind: 'failed', value: String(result.error), replayed: result.replayed } };
    case 'blocked':
      return { what: 'fail', code: 'BLOCKED', attempt: result.attempt };
    default:
      return { what: 'fail', code: result.kind === 'in-flight' ? 'IN_FLIGHT' : 'KEY_REUSED' };
  }
}

/** How each caller of a run ended at last: on a busy machine it may have tried more than once. Those that were killed have no end. */
export function lastEnds(events: readonly Event[], run: string): Call<'run'>[] {
  const last = new Map<string, Call<'run'>>();
  for (const call of only(callsOf(events), 'run')) if (call.invoke.key === run) last.set(call.invoke.caller, call);
  return [...last.values()].filter(({ by }) => by !== undefined);
}
