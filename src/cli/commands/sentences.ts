/**
 * The truth about a run in a sentence.
 *
 * @module
 */

import type { Stored } from '../../core/ports.ts';
import { type BlockedWhy, canExpire, type PersonsWord, type StoredRecord } from '../../core/record.ts';
import { formatDuration } from '../duration.ts';
import { type CommandValue, commandValue } from './command-value.ts';
import { harmless } from './harmless.ts';
import type { KeptOutcome } from './kept-outcome.ts';
import { leaseLeftMs, type RunState } from './standing.ts';
import { endOf, moment } from './when.ts';

const BLOCKED_BECAUSE: Readonly<Record<BlockedWhy, string>> = {
  unknown: 'an attempt ended, and nobody knows how',
  attempts: 'as many attempts as are allowed ended without an outcome',
  failed: 'it failed, and is not to be tried again by itself (--on-failure block)',
  'step-not-stored': 'a step of it is done and its value could not be kept, so that no attempt gets past it',
};

/** A later version may know reasons that this one does not. */
export const blockedBecause = (why: BlockedWhy): string => BLOCKED_BECAUSE[why] ?? harmless(why);

export interface Looked {
  readonly state: RunState;
  readonly stored: Stored | undefined;
  readonly outcome: KeptOutcome | undefined;
}

/** Without the name and the state, which stand before it. */
export function sentence({ state, stored, outcome }: Looked): string {
  if (stored === undefined) return 'nothing is kept of it in this store: it has not run, was forgotten since, or another --store is meant';
  const { record, ageMs } = stored;
  const nowMs = record.writtenAtMs + ageMs;
  const at = moment(record.writtenAtMs, nowMs);
  const attempt = `attempt ${record.attempt}${by(record)}`;
  switch (state) {
    case 'done':
      return `${done(record, outcome, at, nowMs)}; ${remembered(record, nowMs)}`;
    case 'failed':
      return outcome?.kind === 'error'
        ? `${at}, for good: ${harmless(outcome.name)}: ${harmless(outcome.message)}; ${remembered(record, nowMs)}`
        : `${at}, ${attempt}${noted(record)}; the next run tries it again`;
    case 'running':
      return `${attempt}; last sign of life ${formatDuration(ageMs)} ago, ${formatDuration(leaseLeftMs(stored) ?? 0)} of its lease left`;
    case 'lapsed':
      return `nobody knows how it ended: ${attempt}, last sign of life ${at}${noted(record)}; the next run does what its --on-unknown says`;
    case 'blocked':
      return `${at}, ${attempt}: ${blockedBecause(record.blockedWhy ?? 'unknown')}${noted(record)}`;
    case 'unreadable':
      return `it ended ${at}, and whether it succeeded cannot be told: ${outcome?.kind === 'unreadable' ? harmless(outcome.because) : 'no outcome'}`;
    case 'not-done':
      return `${record.word === undefined ? `nothing was begun ${at}${noted(record)}` : said(record.word, nowMs)}; the next run runs it`;
    case 'forgotten':
      return `${record.word === undefined ? at : said(record.word, nowMs)}; the next run runs it`;
    case 'expired':
      return `it was remembered for ${formatDuration(record.retentionMs)} from ${at} on, and no longer; the next run runs it`;
    case 'none':
      return 'nothing is kept of it';
  }
}

/** Who, when and why. */
export function said({ did, by: who, why, atMs }: PersonsWord, nowMs: number): string {
  const person = who === undefined ? 'somebody' : harmless(who);
  const because = why === undefined ? '' : ` (${harmless(why)})`;
  return `${did === 'forget' ? 'forgotten by' : 'by the word of'} ${person} ${moment(atMs, nowMs)}${because}`;
}

/** How long it is remembered. */
export function remembered(record: StoredRecord, nowMs: number): string {
  const untilMs = canExpire(record) ? endOf(record.writtenAtMs, record.retentionMs) : undefined;
  return untilMs === undefined ? 'remembered for ever' : `remembered until ${moment(untilMs, nowMs)}`;
}

const by = ({ holder }: StoredRecord): string => (holder === undefined ? '' : ` by ${harmless(holder)}`);
const noted = ({ note }: StoredRecord): string => (note === undefined ? '' : ` (${harmless(note)})`);

function done(record: StoredRecord, outcome: KeptOutcome | undefined, at: string, nowMs: number): string {
  if (outcome !== undefined && 'isResolved' in outcome && outcome.isResolved) return record.word === undefined ? at : said(record.word, nowMs);
  const value: CommandValue = (outcome?.kind === 'value' ? commandValue(outcome.value) : undefined) ?? { exitCode: 0 };
  const who = value.by === undefined ? by(record) : ` by ${harmless(value.by)}`;
  const took = value.durationMs === undefined ? '' : `, took ${formatDuration(value.durationMs)}`;
  const code = value.exitCode === 0 ? '' : `, exit code ${value.exitCode}`;
  const lost = outcome?.kind === 'not-stored' ? `, its value is not kept (${harmless(outcome.because)})` : '';
  return `${at}${who}${took}${code}${lost}`;
}
