/**
 * One run: how it stands, what happened to it, what is kept, and what a person may say.
 *
 * @module
 */
import { html } from 'hono/html';
import { findRun } from '../commands/find-run.ts';
import { type KeptOutcome, keptOutcome } from '../commands/kept-outcome.ts';
import { type FoundRecord, outcomeLines, recordLines } from '../commands/record-lines.ts';
import { sentence } from '../commands/sentences.ts';
import { type RunState, stateOf } from '../commands/standing.ts';
import { WORD } from '../commands/status.ts';
import type { OpenPlace } from '../places/open.ts';
import { type Entered, recordForms } from './forms.ts';
import { timeline } from './timeline.ts';
import { veiled } from './veil.ts';
import { badge, given, type Html } from './words.ts';

export interface Desk {
  readonly place: OpenPlace;
  readonly allowWrites: boolean;
  readonly showValues: boolean;
  readonly formToken: string;
}

export interface RecordView {
  readonly isKept: boolean;
  readonly title: string;
  readonly body: Html;
}

export async function recordPage(desk: Desk, id: string, { before, entered }: { before?: Html; entered?: Entered } = {}): Promise<RecordView> {
  const found = await findRun(desk.place, { kind: 'id', id });
  const { stored, store } = found;
  if (stored === undefined) {
    const body = html`<h1>${id}</h1>${before ?? ''}<p class="lead">${badge('none', WORD.none)} ${sentence({ state: 'none', stored, outcome: undefined })}</p>`;
    return { isKept: false, title: id, body };
  }
  const kept = stored.record.outcome;
  const whole = kept === undefined ? undefined : await keptOutcome(store, id, kept);
  const outcome = whole === undefined || desk.showValues ? whole : veiled(whole);
  const state = stateOf(stored, store.clock.uncertaintyMs, whole);
  const record: FoundRecord = { ...found, stored };
  const name = stored.record.label ?? id;
  const body = html`<h1>${given(name)}</h1>${before ?? ''}
<p class="lead">${badge(state, WORD[state])} ${sentence({ state, stored, outcome })}</p>
${recordForms({ ...desk, found: record, state, entered })}
${timeline({ found: record, state, outcome })}
${facts(record, outcome, state)}`;
  return { isKept: true, title: `${name}: ${WORD[state]}`, body };
}

function facts(found: FoundRecord, outcome: KeptOutcome | undefined, state: RunState): Html {
  const lines = [...recordLines(found), ...(state === 'forgotten' ? [] : outcomeLines(outcome))];
  // A text of several lines has its label at the first one alone.
  const joined: { label: string; text: string[] }[] = [];
  for (const [label, text] of lines) {
    if (label === '') joined.at(-1)?.text.push(text);
    else joined.push({ label, text: [text] });
  }
  return html`<section aria-labelledby="kept"><h2 id="kept">What is kept</h2>
<dl>${joined.map(({ label, text }) => html`<div><dt>${label}</dt><dd>${text.length === 1 ? given(text[0]) : html`<pre tabindex="0" aria-label="${label}">${text.join('\n')}</pre>`}</dd></div>`)}</dl>
</section>`;
}
