/**
 * What all pages have around them.
 *
 * @module
 */
import { html } from 'hono/html';
import { harmless } from '../commands/harmless.ts';
import { exactly, type Html, link } from './words.ts';

export interface Surroundings {
  /** Without secrets. */
  readonly shown: string;
  readonly allowWrites: boolean;
  readonly hasRecords: boolean;
  /** By the clock of the store. */
  readonly nowMs: number;
}

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** The path of this page, for the navigation. */
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** Seconds between two loads, for those who ask for it. */
export const REFRESH_S = 10;

const PLACES = [
  ['/', 'Now'],
  ['/runs', 'Runs'],
  ['/locks', 'Locks'],
  ['/find', 'Find'],
] as const;

export function layout({ shown, allowWrites, hasRecords, nowMs }: Surroundings, { title, body, path, query = {} }: Page): Html {
  const refreshes = query.refresh !== undefined;
  const nav = PLACES.filter(([place]) => hasRecords || place === '/find').map(
    ([place, name]) => html`<a href="${place}" ${place === path ? html`aria-current="page"` : ''}>${name}</a>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${harmless(title)} · rerunsafe</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
${path !== undefined && refreshes ? html`<meta http-equiv="refresh" content="${REFRESH_S}">` : ''}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<div class="bar"><span class="brand">rerunsafe</span>
<nav aria-label="Pages">${nav}</nav>
<span class="mode ${allowWrites ? 'writes' : ''}">${allowWrites ? 'changes allowed' : 'read-only'}</span></div>
<p class="store">${harmless(shown)}</p>
</header>
<main id="main" tabindex="-1">
${body}
</main>
<footer>
<p>As of ${exactly(nowMs)}. ${path === undefined ? '' : refreshed(path, query, refreshes)}</p>
</footer>
</body>
</html>`;
}

function refreshed(path: string, { refresh: _, ...query }: Readonly<Record<string, string>>, refreshes: boolean): Html {
  return refreshes
    ? html`It loads again every ${REFRESH_S} s. <a href="${link(path, query)}">Stop that</a>`
    : html`<a href="${link(path, query)}">Load again</a> · <a href="${link(path, { ...query, refresh: '1' })}">Load again every ${REFRESH_S} s</a>`;
}

/** What came of it, in a box that is read out. */
export const notice = (look: 'good' | 'bad', text: string): Html =>
  html`<p class="notice ${look}" role="${look === 'good' ? 'status' : 'alert'}">${harmless(text)}</p>`;
