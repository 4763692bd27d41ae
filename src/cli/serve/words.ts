/**
 * Pieces of the pages: what is stored goes through {@link harmless} and is escaped, and stands by itself in its reading direction.
 *
 * @module
 */
import { html } from 'hono/html';
import { harmless } from '../commands/harmless.ts';
import type { ListState } from '../commands/look-through.ts';
import type { RunState } from '../commands/standing.ts';
import { isoOf, moment } from '../commands/when.ts';
import { formatDuration } from '../duration.ts';

export type Html = ReturnType<typeof html>;

/** A name that somebody else chose. */
export const given = (text: unknown): Html => html`<bdi>${harmless(text)}</bdi>`;

export type LookOf = 'good' | 'busy' | 'doubt' | 'bad' | 'quiet';

const LOOK: Readonly<Record<RunState | ListState | 'held' | 'minimum-hold' | 'free', LookOf>> = {
  done: 'good',
  completed: 'good',
  free: 'good',
  running: 'busy',
  held: 'busy',
  'minimum-hold': 'busy',
  lapsed: 'doubt',
  unreadable: 'doubt',
  blocked: 'bad',
  failed: 'bad',
  released: 'quiet',
  'not-done': 'quiet',
  forgotten: 'quiet',
  expired: 'quiet',
  none: 'quiet',
};

/** A state: its word, and a colour beside it. */
export const badge = (state: keyof typeof LOOK, word: string = state): Html => html`<span class="badge ${LOOK[state]}">${word}</span>`;

/** How long ago, in words; the exact time for programs, and for whoever points at it. */
export function ago(ms: number, nowMs: number): Html {
  const iso = isoOf(ms);
  if (iso === null) return html`at no valid time`;
  const agoMs = nowMs - ms;
  const words = agoMs >= 0 ? `${formatDuration(agoMs)} ago` : `in ${formatDuration(-agoMs)}`;
  return html`<time datetime="${iso}" title="${iso}">${words}</time>`;
}

/** To the second, UTC. */
export const exactly = (ms: number): Html => html`<time datetime="${isoOf(ms)}">${isoOf(ms)?.replace(/\.\d+Z$/, 'Z')}</time>`;

/** The exact time and how long ago. */
export function at(ms: number, nowMs: number): Html {
  const iso = isoOf(ms);
  return iso === null ? html`at no valid time` : html`<time datetime="${iso}">${moment(ms, nowMs)}</time>`;
}

/** A path of ours with its query; what is empty is left out. */
export function link(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}
