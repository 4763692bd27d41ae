/**
 * Records and leases in a list.
 *
 * @module
 */
import { html } from 'hono/html';
import type { Listed } from '../../core/ports.ts';
import type { LeaseLook } from '../commands/lease-look.ts';
import { leaseOf } from '../commands/lease-look.ts';
import { type ListState, listStateOf } from '../commands/look-through.ts';
import { leaseLeftMs } from '../commands/standing.ts';
import { formatDuration } from '../duration.ts';
import { ago, badge, given, type Html, link } from './words.ts';

/** What a row needs of a record, and no more: outcomes can be large. */
export interface RunRow {
  readonly id: string;
  readonly state: ListState;
  readonly operation: string;
  readonly key: string | undefined;
  readonly attempt: number;
  readonly holder: string | undefined;
  readonly writtenAtMs: number;
  readonly nowMs: number;
  readonly leftMs: number | undefined;
  /** Its outcome is a failure, as far as the row tells without being unpacked. */
  readonly isFailure: boolean;
}

export function runRow(listed: Listed, uncertaintyMs: number): RunRow {
  const { id, record, ageMs } = listed;
  const { operation, label: key, attempt, holder, writtenAtMs, outcome } = record;
  const state = listStateOf(listed, uncertaintyMs);
  const leftMs = state === 'running' ? leaseLeftMs(listed) : undefined;
  const isFailure = outcome?.kind === 'error' || (outcome?.kind === 'parts' && outcome.of === 'error');
  return { id, state, operation, key, attempt, holder, writtenAtMs, nowMs: writtenAtMs + ageMs, leftMs, isFailure };
}

export interface LockRow extends LeaseLook {
  readonly name: string;
  readonly writtenAtMs: number;
  readonly nowMs: number;
}

export function lockRow(listed: Listed, uncertaintyMs: number): LockRow {
  const { record, ageMs } = listed;
  const { label: name = '', writtenAtMs } = record;
  return { name, writtenAtMs, nowMs: writtenAtMs + ageMs, ...leaseOf(listed, uncertaintyMs) };
}

/** What the time of a record's last write means. */
const SINCE: Readonly<Record<ListState, string>> = {
  running: 'last sign of life',
  lapsed: 'last sign of life',
  blocked: 'blocked',
  completed: 'ended',
  released: 'written',
};

const nobody = html`<span class="dim">nobody</span>`;

export const runTable = (rows: readonly RunRow[], caption: string): Html =>
  table(
    caption,
    ['State', 'Key', 'Since', 'Held by'],
    rows.map(({ id, state, operation, key, attempt, holder, writtenAtMs, nowMs, leftMs, isFailure }) => [
      isFailure ? badge('failed', state) : badge(state),
      html`<a href="/record/${id}">${given(key ?? id)}</a>
<span class="dim">${given(operation)}, attempt ${attempt}</span>`,
      html`${isFailure ? 'failed for good' : SINCE[state]} ${ago(writtenAtMs, nowMs)}${leftMs === undefined ? '' : html` <span class="dim">${formatDuration(leftMs)} of its lease left</span>`}`,
      state !== 'running' && holder !== undefined
        ? html`<span class="dim">last</span> ${given(holder)}`
        : holder === undefined
          ? nobody
          : given(holder),
    ]),
  );

export const lockTable = (rows: readonly LockRow[], caption: string): Html =>
  table(
    caption,
    ['State', 'Lock', 'Since', 'Held by'],
    rows.map(({ name, state, holder, token, remainingMs, writtenAtMs, nowMs }) => [
      badge(state, LOCK_WORD[state]),
      html`<a href="${link('/lock', { name })}">${given(name)}</a> <span class="dim">token ${token}</span>`,
      html`${state === 'held' ? 'last sign of life' : 'written'} ${ago(writtenAtMs, nowMs)}${remainingMs === undefined ? '' : html` <span class="dim">${formatDuration(remainingMs)} left</span>`}`,
      holder === undefined ? nobody : state === 'held' ? given(holder) : html`<span class="dim">last</span> ${given(holder)}`,
    ]),
  );

export const LOCK_WORD: Readonly<Record<LeaseLook['state'], string>> = {
  held: 'held',
  'minimum-hold': 'minimum hold',
  free: 'free',
  none: 'unknown',
};

/** With its roles said: narrow screens lay it out as cards, and browsers then forget that it is a table. */
const table = (caption: string, heads: readonly string[], rows: readonly (readonly Html[])[]): Html => html`<table role="table">
<caption class="hidden">${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads.map((head) => html`<th role="columnheader" scope="col">${head}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells.map((cell) => html`<td role="cell">${cell}</td>`)}</tr>`)}</tbody>
</table>`;
