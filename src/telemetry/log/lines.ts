/**
 * Each event as people read it: how loud, and a sentence.
 *
 * @module
 */
import type { LeaseEvent, LeaseEventName, RunEvent, RunEventName } from '../../core/events.ts';

export type Level = 'debug' | 'info' | 'warn' | 'error';
export const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

interface Said {
  readonly level: Level;
  readonly sentence: string;
}

/** `error`: somebody has to look. `warn`: something went wrong, and was dealt with. `info`: worth a line. `debug`: each run says it. */
export const RUN_LINES: Readonly<Record<RunEventName, Said>> = {
  claimed: { level: 'debug', sentence: 'claimed; the work begins' },
  replayed: { level: 'debug', sentence: 'done before; the caller gets that outcome' },
  waited: { level: 'debug', sentence: 'waited for another who was at it; the caller gets that outcome' },
  'in-flight': { level: 'info', sentence: 'another is at it; nothing was run' },
  'key-reused': { level: 'warn', sentence: 'the key was used before with another input; nothing was run' },
  refused: { level: 'error', sentence: 'no answer from the store that could be relied on; nothing was run' },
  completed: { level: 'debug', sentence: 'done, and kept' },
  released: { level: 'warn', sentence: 'the work has failed; it may run again' },
  remembered: { level: 'warn', sentence: 'the work has failed for good; every caller gets that failure' },
  unknown: { level: 'error', sentence: 'ended without an outcome; nobody knows what it did' },
  blocked: { level: 'error', sentence: 'blocked, until a person says what became of it' },
  'taken-over': { level: 'warn', sentence: 'taken over; the attempt before ended without an outcome' },
  'lease-lost': { level: 'error', sentence: 'the lease was lost while the work went on; another may be at it' },
  'save-failed': { level: 'error', sentence: 'what became of it could not be saved' },
  'record-vanished': { level: 'warn', sentence: 'the record was gone when the work was done; it was written anew' },
  unguarded: { level: 'error', sentence: 'the store is down; the work runs unguarded' },
  'step-not-kept': { level: 'error', sentence: 'a step is done, and its value could not be kept' },
};

export const LEASE_LINES: Readonly<Record<LeaseEventName, Said>> = {
  acquired: { level: 'debug', sentence: 'lease acquired' },
  skipped: { level: 'info', sentence: 'lease not acquired; nothing was run' },
  renewed: { level: 'debug', sentence: 'lease renewed' },
  lost: { level: 'error', sentence: 'lease lost; another may hold it' },
  released: { level: 'debug', sentence: 'lease released' },
};

export function runLine(event: RunEvent): Said {
  const said = RUN_LINES[event.event] ?? unheardOf(event.event);
  return event.event === 'completed' && event.notKept !== undefined ? { level: 'warn', sentence: 'done, and its value could not be kept' } : said;
}

export function leaseLine(event: LeaseEvent): Said {
  const said = LEASE_LINES[event.event] ?? unheardOf(event.event);
  if (event.event !== 'released' || event.reason === undefined) return said;
  return { level: 'warn', sentence: event.reason === 'lost' ? 'lease released, after it was lost' : 'lease not released; it ends by itself' };
}

/** Of another version of the package in this process. */
const unheardOf = (event: string): Said => ({ level: 'info', sentence: event });
