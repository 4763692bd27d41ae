/**
 * Looking up by what people know: a key, an id, the name of a lock.
 *
 * @module
 */
import { html } from 'hono/html';
import { DEFAULT_OPERATION } from '../operation.ts';
import type { Html } from './words.ts';

export const findPage = (hasRecords: boolean, { operation, scope, key }: Readonly<Record<string, string>> = {}, before: Html | '' = ''): Html => {
  const field = (label: string, name: string, value = '', more: Html | '' = ''): Html =>
    html`<label>${label} <input name="${name}" value="${value}" autocomplete="off" spellcheck="false" ${more}></label>`;
  const must = html`required`;
  return html`<h1>Find</h1>${before}
${
  hasRecords
    ? html`<section aria-labelledby="by-key"><h2 id="by-key">A run by its key</h2>
<form method="get" action="/find" class="word">${field('Operation', 'operation', operation ?? DEFAULT_OPERATION, must)}${field('Scope (if it has one)', 'scope', scope)}
${field('Key, as it was when it ran: placeholders are not filled in here', 'key', key, must)}<button>Find the run</button></form></section>
<section aria-labelledby="by-id"><h2 id="by-id">A run by its id</h2>
<form method="get" action="/find" class="word">${field('Id (r1_…)', 'id', '', must)}<button>Find the id</button></form></section>`
    : html`<p>This store keeps locks only, and cannot list them: say the name of one.</p>`
}
<section aria-labelledby="by-name"><h2 id="by-name">A lock</h2>
<form method="get" action="/lock" class="word">${field('Name', 'name', '', must)}<button>Find the lock</button></form></section>`;
};
