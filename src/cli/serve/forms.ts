/**
 * What a person may say of a run: resolve, forget. Without the right to, the commands that say the same.
 *
 * @module
 */
import { html } from 'hono/html';
import { userAtHost } from '../commands/answer.ts';
import type { FoundRecord } from '../commands/record-lines.ts';
import { isCommands } from '../commands/resolve.ts';
import { nextCommand } from '../commands/say-again.ts';
import type { RunState } from '../commands/standing.ts';
import type { OpenPlace } from '../places/open.ts';
import { seenMark } from './secret.ts';
import type { Html } from './words.ts';

/** What was typed, where it could not be taken: it is not lost. */
export type Entered = Readonly<Record<string, string>>;

export interface FormsRequest {
  readonly place: OpenPlace;
  readonly allowWrites: boolean;
  readonly formToken: string;
  readonly found: FoundRecord;
  readonly state: RunState;
  readonly entered?: Entered | undefined;
}

/** A person is asked. */
const ASKS: ReadonlySet<RunState> = new Set(['blocked', 'lapsed']);
/** There is nothing left to forget. */
const IS_GONE: ReadonlySet<RunState> = new Set(['forgotten', 'expired', 'none']);

export function recordForms(request: FormsRequest): Html | '' {
  const { allowWrites, state, entered } = request;
  if (IS_GONE.has(state)) return '';
  if (!allowWrites) return ASKS.has(state) ? commands(request) : '';
  if (state === 'running')
    return html`<p class="dim">It is running: wait until it has ended. To shut it out, say <code>rerunsafe forget --force</code>.</p>`;
  return html`<section aria-labelledby="say"><h2 id="say">What is to become of it</h2>
${ASKS.has(state) ? resolveForm(request) : ''}
<details ${entered?.verb === 'forget' ? 'open' : ''}><summary>Forget it</summary>
${form(request, 'forget', 'Forget', html`<p>As if it had never been: the next run runs it, from its beginning.</p>`)}</details>
</section>`;
}

function resolveForm(request: FormsRequest): Html {
  const { found, entered = {} } = request;
  const isOwn = isCommands(found.stored.record);
  const answer = (value: string, words: string): Html =>
    html`<label class="choice"><input type="radio" name="as" value="${value}" required ${entered.as === value ? 'checked' : ''}> ${words}</label>`;
  const value = isOwn
    ? ''
    : html`<label>If it is done: what the work would have returned, as JSON (<code>null</code> for nothing). Its callers get it.
<textarea name="value" rows="3" spellcheck="false">${entered.value ?? ''}</textarea></label>`;
  return form(
    request,
    'resolve',
    'Resolve',
    html`<fieldset><legend>Find out what it did, and say so</legend>
${answer('done', 'It is done, and does not run again')}
${answer('not-done', 'It was not done, and may run again')}
</fieldset>${value}`,
  );
}

const form = ({ found, formToken, entered }: FormsRequest, verb: 'resolve' | 'forget', button: string, inside: Html): Html =>
  html`<form method="post" action="/record/${found.id}/${verb}" class="word">
<input type="hidden" name="form" value="${formToken}"><input type="hidden" name="seen" value="${seenMark(found.stored)}">
${inside}${whoAndWhy(entered?.verb === verb ? entered : undefined)}
<button ${verb === 'forget' ? html`class="heavy"` : ''}>${button}</button></form>`;

export const whoAndWhy = (
  entered: Entered = {},
): Html => html`<label>Why <input name="why" required maxlength="1000" autocomplete="off" value="${entered.why ?? ''}"></label>
<label>Who says so <input name="by" required maxlength="200" autocomplete="off" spellcheck="false" value="${entered.by ?? userAtHost()}"></label>`;

const commands = ({ found: { id }, place }: FormsRequest): Html => html`<section aria-labelledby="say"><h2 id="say">What is to become of it</h2>
<p>Find out what it did, and say so. This page is read-only: start it with <code>--allow-writes</code>, or use the command line.</p>
<pre tabindex="0" aria-label="Commands">${nextCommand('resolve', id, place, '--as done')}      # it is done, and does not run again
${nextCommand('resolve', id, place, '--as not-done')}  # it is not, and may run again</pre></section>`;
