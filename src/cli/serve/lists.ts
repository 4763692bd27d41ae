/**
 * The pages that list: what needs a person now, runs, locks.
 *
 * @module
 */
import { html } from 'hono/html';
import type { RecordStore } from '../../core/ports.ts';
import { harmless } from '../commands/harmless.ts';
import { type Found, type ListState, newest, READ_MOST, type Wanted } from '../commands/look-through.ts';
import type { Rank } from '../commands/newest.ts';
import { UsageError } from '../usage-error.ts';
import { type LockRow, lockRow, lockTable, type RunRow, runRow, runTable } from './rows.ts';
import { type Html, link } from './words.ts';

type Query = Readonly<Record<string, string>>;

/** Rows of one page. */
export const PAGE_ROWS = 50;
const NOW_ROWS = 10;
const STATES: readonly ListState[] = ['running', 'lapsed', 'blocked', 'released', 'completed'];

const runs = (store: RecordStore, wanted: Wanted, limit: number): Promise<Found<RunRow>> =>
  newest(store, wanted, limit, (listed) => runRow(listed, store.clock.uncertaintyMs));
const locks = (store: RecordStore, wanted: Wanted, limit: number): Promise<Found<LockRow>> =>
  newest(store, { ...wanted, leases: true }, limit, (listed) => lockRow(listed, store.clock.uncertaintyMs));

/** What a person is asked about, then what is under way. */
export async function nowPage(store: RecordStore): Promise<Html> {
  const [blocked, lapsed, running, held] = await Promise.all([
    runs(store, { state: 'blocked' }, NOW_ROWS),
    runs(store, { state: 'lapsed' }, NOW_ROWS),
    runs(store, { state: 'running' }, NOW_ROWS),
    locks(store, { state: 'running' }, NOW_ROWS),
  ]);
  const part = (found: Found<unknown>, head: string, what: string, all: string, table: Html): Html => html`<section>
<h2>${head} <span class="count">${found.count}${found.isCut ? ' or more' : ''}</span></h2>
<p class="dim">${what}</p>
${found.count === 0 ? html`<p>None.</p>` : table}
${found.count > NOW_ROWS ? html`<p><a href="${all}">All that are ${head.toLowerCase()}</a></p>` : ''}
</section>`;
  return html`<h1>Now</h1>
${part(blocked, 'Blocked', 'Nobody knows how they ended, or they failed and are not to be tried again by themselves: a person says what became of them.', '/runs?state=blocked', runTable(blocked.items, 'Blocked runs'))}
${part(lapsed, 'Lapsed', 'Their lease is over and there is no outcome: nobody knows how they ended.', '/runs?state=lapsed', runTable(lapsed.items, 'Lapsed runs'))}
${part(running, 'Running', 'Somebody holds their lease.', '/runs?state=running', runTable(running.items, 'Running runs'))}
${part(held, 'Held locks', 'One at a time, and this one has it.', '/locks?state=running', lockTable(held.items, 'Held locks'))}`;
}

export async function runsPage(store: RecordStore, query: Query): Promise<Html> {
  const { operation, prefix } = query;
  const state = stateIn(query.state);
  const found = await runs(store, { operation: operation || undefined, prefix, state, after: rankIn(query.after) }, PAGE_ROWS);
  return html`<h1>Runs</h1>
<form class="filter" method="get" action="/runs" role="search" aria-label="Runs">
<label>State <select name="state"><option value="">any</option>${STATES.map((each) => html`<option ${each === state ? 'selected' : ''}>${each}</option>`)}</select></label>
<label>Operation <input name="operation" value="${operation ?? ''}" autocomplete="off" spellcheck="false"></label>
<label>Key begins with <input name="prefix" value="${prefix ?? ''}" autocomplete="off" spellcheck="false"></label>
<button>Show</button>
</form>
${found.items.length === 0 ? html`<p>No records${query.after === undefined ? '' : ' after these'}.</p>` : runTable(found.items, 'Runs, the newest first')}
${pages('/runs', query, found, 'records')}`;
}

export async function locksPage(store: RecordStore, query: Query): Promise<Html> {
  const { prefix } = query;
  const found = await locks(store, { prefix, state: stateIn(query.state), after: rankIn(query.after) }, PAGE_ROWS);
  return html`<h1>Locks</h1>
<form class="filter" method="get" action="/locks" role="search" aria-label="Locks">
<label>Held <select name="state"><option value="">or not</option><option value="running" ${query.state === 'running' ? 'selected' : ''}>now</option></select></label>
<label>Name begins with <input name="prefix" value="${prefix ?? ''}" autocomplete="off" spellcheck="false"></label>
<button>Show</button>
</form>
${found.items.length === 0 ? html`<p>No locks${query.after === undefined ? '' : ' after these'}.</p>` : lockTable(found.items, 'Locks, the newest first')}
${pages('/locks', query, found, 'locks')}`;
}

function pages(path: string, { after, refresh: _, ...query }: Query, { items, count, isCut, last }: Found<unknown>, what: string): Html {
  const next = last !== undefined && count > items.length ? link(path, { ...query, after: `${last.atMs}.${last.id}` }) : undefined;
  const cut = isCut ? html`<p class="dim">Only the first ${READ_MOST} that the store listed were looked at: say more of what is meant.</p>` : '';
  return html`${cut}<nav class="pages" aria-label="Pages of the list">
<span class="dim">${items.length} of ${count}${isCut ? ' or more' : ''} ${what}${after === undefined ? ', the newest' : ' after those before'}</span>
${after === undefined ? '' : html`<a href="${link(path, query)}">Newest</a>`}
${next === undefined ? '' : html`<a href="${next}" rel="next">Next</a>`}
</nav>`;
}

function stateIn(text = ''): ListState | undefined {
  if (text === '') return undefined;
  const state = STATES.find((each) => each === text);
  if (state === undefined) throw new UsageError(`${harmless(text)} is no state: ${STATES.join(', ')}`);
  return state;
}

function rankIn(text: string | undefined): Rank | undefined {
  if (text === undefined) return undefined;
  const [, atMs, id] = /^(-?\d{1,16})\.(.{1,200})$/.exec(text) ?? [];
  if (atMs === undefined || id === undefined) throw new UsageError('this page of the list is none: begin with the newest');
  return { atMs: Number(atMs), id };
}
