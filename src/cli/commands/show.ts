/**
 * `show`: everything that is kept of one run, or of one lease. It never writes.
 *
 * @module
 */
import { inspect } from 'node:util';
import type { StoredRecord, StoredStep } from '../../core/record.ts';
import { formatDuration } from '../duration.ts';
import { EXIT, EXIT_UNKNOWN } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { type CommandValue, commandValue } from './command-value.ts';
import { type Address, type FoundRun, findRun } from './find-run.ts';
import { harmless, harmlessLines } from './harmless.ts';
import { type KeptOutcome, keptOutcome } from './kept-outcome.ts';
import { leaseFacts, leaseSentence, lookAtLease } from './lease-look.ts';
import { plainJson } from './plain-json.ts';
import { recordFacts } from './record-facts.ts';
import { blockedBecause, remembered, said } from './sentences.ts';
import { leaseLeftMs, type RunState, stateOf } from './standing.ts';
import { INK, WORD } from './status.ts';
import { moment } from './when.ts';

export interface ShowRequest {
  readonly place: OpenPlace;
  readonly what: Address;
  readonly out: Screen;
}

/**
 * Exit code: 0 it was shown; 3 nothing is kept under that name.
 *
 * @throws UsageError; RerunSafeError `STORE_UNAVAILABLE`, …
 */
export async function show({ place, what, out }: ShowRequest): Promise<number> {
  if (what.kind === 'lease') return showLease(place, what.name, out);
  const found = await findRun(place, what);
  const { store, id, stored, name } = found;
  if (stored === undefined) {
    if (out.isJson) out.json({ kind: 'run', state: 'none', id });
    else out.print(`${name}: nothing is kept of it`);
    return EXIT_UNKNOWN;
  }
  const kept = stored.record.outcome;
  const outcome = kept === undefined ? undefined : await keptOutcome(store, id, kept);
  const state = stateOf(stored, store.clock.uncertaintyMs, outcome);
  if (out.isJson) out.json({ kind: 'run', state, ...recordFacts(id, stored), ...rest(stored.record, outcome) });
  else for (const [label, text] of lines({ found: { ...found, stored }, state, outcome, out })) out.print(`${label.padEnd(LABEL)}${text}`);
  return EXIT.ok;
}

async function showLease(place: OpenPlace, name: string, out: Screen): Promise<number> {
  const look = await lookAtLease(place, name);
  if (out.isJson) out.json({ kind: 'lease', ...leaseFacts(name, look) });
  else out.print(`lock ${JSON.stringify(harmless(name))}: ${look.state}, ${leaseSentence(look, place.store?.clock.nowMs() ?? Date.now())}`);
  return look.state === 'none' ? EXIT_UNKNOWN : EXIT.ok;
}

const rest = ({ scope, fingerprint, steps }: StoredRecord, outcome: KeptOutcome | undefined) => ({
  scope: scope === '' ? null : scope,
  fingerprint: fingerprint ?? null,
  steps: Object.entries(steps ?? {}).map(([name, step]) => ({ name, state: stepState(step) })),
  outcome: outcome === undefined ? null : (plainJson(outcome) as object),
});

const stepState = (step: StoredStep): 'begun' | 'done' | 'not-stored' =>
  !('outcome' in step) ? 'begun' : step.outcome.kind === 'not-stored' ? 'not-stored' : 'done';

const STEP: Readonly<Record<ReturnType<typeof stepState>, string>> = {
  begun: 'was begun, and nobody knows what it did',
  done: 'done',
  'not-stored': 'done, its value could not be kept',
};

type Line = readonly [label: string, text: string];
const LABEL = 14;

interface Shown {
  readonly found: FoundRun & { readonly stored: NonNullable<FoundRun['stored']> };
  readonly state: RunState;
  readonly outcome: KeptOutcome | undefined;
  readonly out: Screen;
}

function lines({ found: { id, stored, store }, state, outcome, out }: Shown): Line[] {
  const { record, ageMs } = stored;
  const nowMs = record.writtenAtMs + ageMs;
  const leftMs = leaseLeftMs(stored);
  const optional = (label: string, text: string | undefined): Line[] => (text === undefined ? [] : [[label, harmless(text)]]);
  return [
    ['state', out.paint(INK[state], WORD[state])],
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
    ...Object.entries(record.steps ?? {}).map(([name, step]): Line => ['step', `${harmless(name)}: ${STEP[stepState(step)]}`]),
    ...outcomeLines(outcome),
  ];
}

function outcomeLines(outcome: KeptOutcome | undefined): Line[] {
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
