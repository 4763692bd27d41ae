/**
 * What is kept of a run, line by line, for people.
 *
 * @module
 */
import { inspect } from 'node:util';
import type { StoredStep } from '../../core/record.ts';
import { formatDuration } from '../duration.ts';
import { type CommandValue, commandValue } from './command-value.ts';
import type { FoundRun } from './find-run.ts';
import { harmless, harmlessLines } from './harmless.ts';
import type { KeptOutcome } from './kept-outcome.ts';
import { blockedBecause, remembered, said } from './sentences.ts';
import { leaseLeftMs } from './standing.ts';
import { moment } from './when.ts';

export const stepState = (step: StoredStep): 'begun' | 'done' | 'not-stored' =>
  !('outcome' in step) ? 'begun' : step.outcome.kind === 'not-stored' ? 'not-stored' : 'done';

export const STEP: Readonly<Record<ReturnType<typeof stepState>, string>> = {
  begun: 'was begun, and nobody knows what it did',
  done: 'done',
  'not-stored': 'done, its value could not be kept',
};

export type Line = readonly [label: string, text: string];

export type FoundRecord = FoundRun & { readonly stored: NonNullable<FoundRun['stored']> };

/** Without its steps and its outcome. */
export function recordLines({ id, stored, store }: FoundRecord): Line[] {
  const { record, ageMs } = stored;
  const nowMs = record.writtenAtMs + ageMs;
  const leftMs = leaseLeftMs(stored);
  const optional = (label: string, text: string | undefined): Line[] => (text === undefined ? [] : [[label, harmless(text)]]);
  return [
    ['operation', harmless(record.operation)],
    ...optional('key', record.label),
    ['id', id],
    ...optional('scope', record.scope === '' ? undefined : `${record.scope} (hash)`),
    ['attempt', String(record.attempt)],
    ['token', String(record.token)],
    ['created', moment(record.createdAtMs, nowMs)],
    ['last written', moment(record.writtenAtMs, nowMs)],
    [
      'lease',
      `${formatDuration(record.leaseMs)}${leftMs === undefined ? '' : `, ${formatDuration(leftMs)} left`}, by the clock of ${harmless(store.name)}`,
    ],
    ['kept', remembered(record, nowMs)],
    ...optional('holder', record.holder),
    ...optional('note', record.note),
    ...optional('blocked', record.blockedWhy === undefined ? undefined : blockedBecause(record.blockedWhy)),
    ...optional('word', record.word === undefined ? undefined : said(record.word, nowMs)),
    ...optional('fingerprint', record.fingerprint),
  ];
}

export function outcomeLines(outcome: KeptOutcome | undefined): Line[] {
  switch (outcome?.kind) {
    case undefined:
      return [];
    case 'value': {
      const value = commandValue(outcome.value);
      return value === undefined ? text('value', shown(outcome.value)) : commandLines(value);
    }
    case 'error': {
      const code = outcome.code === undefined ? '' : ` (${harmless(String(outcome.code))})`;
      const data = outcome.data === undefined ? [] : text('data', shown(outcome.data));
      return [['error', `${harmless(outcome.name)}${code}`], ...text('message', outcome.message), ...data];
    }
    case 'not-stored':
      return [['outcome', `done, its value could not be kept: ${harmless(outcome.because)}`]];
    case 'unreadable':
      return [['outcome', `cannot be read here: ${harmless(outcome.because)}`]];
  }
}

function commandLines({ exitCode, tail, durationMs, ...told }: CommandValue): Line[] {
  const named: readonly (readonly [label: string, text: string | undefined])[] = [
    ['exit code', String(exitCode)],
    ['command', told.command],
    ['started', told.startedAt],
    ['took', durationMs === undefined ? undefined : formatDuration(durationMs)],
    ['by', told.by],
    ['commit', told.gitSha],
    ['CI run', told.ciRunUrl],
    ['resolved by', told.resolvedBy],
    ['resolved at', told.resolvedAt],
  ];
  const facts = named.flatMap(([label, value]): Line[] => (value === undefined ? [] : [[label, harmless(value)]]));
  return tail === undefined ? facts : [...facts, ...text('output', tail)];
}

/** The first line beside its label, the others below. */
const text = (label: string, content: string): Line[] =>
  harmlessLines(content.replace(/\r?\n$/, '')).map((line, n): Line => [n === 0 ? label : '', line]);

const shown = (value: unknown): string => inspect(value, { depth: 8, maxArrayLength: 200, maxStringLength: 10_000, breakLength: 100 });
