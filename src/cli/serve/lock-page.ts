/**
 * One lock: who holds it, and since when.
 *
 * @module
 */
import { html } from 'hono/html';
import { leaseRowId } from '../../core/store-leases.ts';
import { leaseFacts, leaseSentence, lookAtLease } from '../commands/lease-look.ts';
import { type Entered, whoAndWhy } from './forms.ts';
import type { Desk, RecordView } from './record-page.ts';
import { LOCK_WORD } from './rows.ts';
import { at, badge, given, type Html } from './words.ts';

export async function lockPage(desk: Desk, name: string, { before, entered }: { before?: Html; entered?: Entered } = {}): Promise<RecordView> {
  const { place } = desk;
  const look = await lookAtLease(place, name);
  const stored = await place.store?.read(leaseRowId(name));
  const nowMs = place.store?.clock.nowMs() ?? Date.now();
  const { token, holder, lastSlot } = leaseFacts(name, look);
  const isTaken = look.state === 'held' || look.state === 'minimum-hold';
  const row = (label: string, value: unknown): Html | '' => (value === null ? '' : html`<div><dt>${label}</dt><dd>${value}</dd></div>`);
  const body = html`<h1>Lock ${given(name)}</h1>${before ?? ''}
<p class="lead">${badge(look.state, LOCK_WORD[look.state])} ${leaseSentence(look, nowMs)}</p>
${isTaken ? unlockForm(desk, name, token ?? 0, entered) : ''}
<section aria-labelledby="kept"><h2 id="kept">What is kept</h2><dl>
${row('name', given(name))}${row('token', token)}${row(isTaken ? 'holder' : 'last holder', holder === null ? null : given(holder))}
${row('last written', stored === undefined ? null : at(stored.record.writtenAtMs, stored.record.writtenAtMs + stored.ageMs))}
${row('last slot that is done', lastSlot)}
</dl>
<p class="dim">Not known: when its holder took it (each renewal writes over it), and who held it before.</p></section>`;
  return { isKept: look.state !== 'none', title: `Lock ${name}`, body };
}

function unlockForm({ allowWrites, formToken }: Desk, name: string, token: number, entered: Entered | undefined): Html {
  if (!allowWrites) {
    return html`<p class="dim">This page is read-only. Where its holder is gone: start it with <code>--allow-writes</code>, or say
<code>rerunsafe unlock --token ${token}</code> with its name.</p>`;
  }
  return html`<section aria-labelledby="say"><h2 id="say">Free it</h2>
<form method="post" action="/lock/unlock" class="word">
<input type="hidden" name="form" value="${formToken}"><input type="hidden" name="token" value="${token}"><input type="hidden" name="name" value="${name}">
<p>Its holder is told when it next renews, and what it does besides may go on. A lock keeps no reasons: yours stands in what <code>rerunsafe serve</code> prints.</p>
${whoAndWhy(entered)}<button class="heavy">Unlock</button></form></section>`;
}
