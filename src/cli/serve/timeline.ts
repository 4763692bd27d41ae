/**
 * What happened to a run, in the order in which it did, as far as its record tells.
 *
 * @module
 */
import { html } from 'hono/html';
import { canExpire, type StoredRecord } from '../../core/record.ts';
import { commandValue } from '../commands/command-value.ts';
import { harmless } from '../commands/harmless.ts';
import type { KeptOutcome } from '../commands/kept-outcome.ts';
import { type FoundRecord, STEP, stepState } from '../commands/record-lines.ts';
import { blockedBecause } from '../commands/sentences.ts';
import type { RunState } from '../commands/standing.ts';
import { endOf } from '../commands/when.ts';
import { formatDuration } from '../duration.ts';
import { at, given, type Html } from './words.ts';

interface Event {
  readonly atMs: number;
  readonly what: string;
}

export interface Told {
  readonly found: FoundRecord;
  readonly state: RunState;
  readonly outcome: KeptOutcome | undefined;
}

export function timeline(told: Told): Html {
  const { record, ageMs } = told.found.stored;
  const nowMs = record.writtenAtMs + ageMs;
  const events = eventsOf(told).toSorted((a, b) => a.atMs - b.atMs);
  return html`<section aria-labelledby="timeline">
<h2 id="timeline">Timeline</h2>
<ol class="timeline">${events.map(({ atMs, what }) => html`<li class="${atMs > nowMs ? 'ahead' : ''}">${at(atMs, nowMs)}<br>${what}</li>`)}</ol>
${steps(record)}
<p class="dim">Not known: ${unknownsOf(record).join('; ')}.</p>
</section>`;
}

function eventsOf({ found: { stored }, state, outcome }: Told): Event[] {
  const { record } = stored;
  const { createdAtMs, writtenAtMs, word, leaseMs, retentionMs } = record;
  const command = outcome?.kind === 'value' ? commandValue(outcome.value) : undefined;
  const startedMs = command?.startedAt === undefined ? Number.NaN : Date.parse(command.startedAt);
  const endMs = canExpire(record) ? endOf(writtenAtMs, retentionMs) : undefined;
  return [
    { atMs: createdAtMs, what: 'created: the first claim of this key that the record knows of' },
    ...(Number.isFinite(startedMs) ? [{ atMs: startedMs, what: `attempt ${record.attempt}: the command started` }] : []),
    ...(word === undefined ? [{ atMs: writtenAtMs, what: lastWrite(record, state) }] : [{ atMs: word.atMs, what: sayer(record) }]),
    ...(state === 'running' || state === 'lapsed' ? [{ atMs: writtenAtMs + leaseMs, what: `its lease of ${formatDuration(leaseMs)} ends` }] : []),
    ...(endMs === undefined ? [] : [{ atMs: endMs, what: 'it is no longer remembered from here on' }]),
  ];
}

const note = ({ note: text }: StoredRecord): string => (text === undefined ? '' : ` (${harmless(text)})`);
const by = ({ holder }: StoredRecord): string => (holder === undefined ? '' : ` by ${harmless(holder)}`);

function lastWrite(record: StoredRecord, state: RunState): string {
  const attempt = record.attempt > 0 ? `attempt ${record.attempt}${by(record)}` : 'before any attempt';
  switch (state) {
    case 'running':
    case 'lapsed':
      return `${attempt}: last sign of life (the claim, a renewal or a step)${note(record)}`;
    case 'blocked':
      return `${attempt}: blocked, ${blockedBecause(record.blockedWhy ?? 'unknown')}${note(record)}`;
    case 'done':
      return `${attempt}: done, its outcome was kept`;
    case 'failed':
      return `${attempt}: failed${note(record)}`;
    case 'unreadable':
      return `${attempt}: ended, with an outcome that cannot be read here`;
    default:
      return `${attempt}: last written${note(record)}`;
  }
}

function sayer(record: StoredRecord): string {
  const { word } = record;
  if (word === undefined) return '';
  const became = word.did === 'forget' ? 'forgotten' : record.state === 'completed' ? 'resolved as done' : 'resolved as not done';
  const who = word.by === undefined ? 'somebody' : harmless(word.by);
  return `${became} by the word of ${who}${word.why === undefined ? '' : `: ${harmless(word.why)}`}`;
}

function steps({ steps: kept = {} }: StoredRecord): Html | '' {
  const all = Object.entries(kept);
  if (all.length === 0) return '';
  return html`<h3>Steps</h3>
<ul class="steps">${all.map(([name, step]) => html`<li>${given(name)}: ${STEP[stepState(step)]}${'begun' in step ? ` (attempt ${step.begun})` : ''}</li>`)}</ul>`;
}

/** A record keeps its last state, not its history. */
function unknownsOf({ attempt, steps: kept, word, state }: StoredRecord): string[] {
  return [
    ...(attempt > 1 ? ['when earlier attempts began and ended (only their number is kept)'] : []),
    ...(kept === undefined ? [] : ['when each step began and ended']),
    ...(state === 'completed' && kept === undefined ? ['which steps it had (they are not kept beyond its end)'] : []),
    ...(word === undefined ? [] : ["what the record said before that person's word"]),
    ...(state === 'running' ? ['when this attempt began'] : []),
    'earlier renewals, and who looked at it',
  ];
}
