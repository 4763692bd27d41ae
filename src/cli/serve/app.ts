/**
 * The pages and what leads to them.
 *
 * @module
 */
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { isRerunSafeError } from '../../core/errors.ts';
import { findRun } from '../commands/find-run.ts';
import { EXIT } from '../exit-codes.ts';
import { inCliWords } from '../places/needs-set-up.ts';
import { UsageError } from '../usage-error.ts';
import { findPage } from './find-page.ts';
import type { Entered } from './forms.ts';
import { isOwnForm, onlyOurHost, onlyWithSecret, withHeaders } from './guard-page.ts';
import { layout, notice, type Page } from './layout.ts';
import { locksPage, nowPage, runsPage } from './lists.ts';
import { lockPage } from './lock-page.ts';
import { type Desk, type RecordView, recordPage } from './record-page.ts';
import { type Logged, sayOfLock, sayOfRecord } from './say.ts';
import { isEqual, type Secret } from './secret.ts';
import { ICON, STYLE } from './style.ts';
import type { Html } from './words.ts';

export interface AppOptions extends Omit<Desk, 'formToken'> {
  readonly secret: Secret;
  /** Names and addresses that a browser may ask for. */
  readonly hosts: ReadonlySet<string>;
  readonly log: (logged: Logged) => void;
  /** What nobody expects. */
  readonly onError: (error: unknown) => void;
}

const MOST_FORM_BYTES = 65_536;
type Status = 200 | 400 | 401 | 403 | 404 | 409 | 413 | 500 | 503;

export function makeApp({ secret, hosts, log, onError, ...given }: AppOptions): Hono {
  const desk: Desk = { ...given, formToken: secret.formToken };
  const { place, allowWrites } = desk;
  const { store } = place;
  const app = new Hono();

  const send = (context: Context, page: Page, status: Status = 200): Response | Promise<Response> =>
    context.html(
      layout({ shown: place.shown, allowWrites, hasRecords: store !== undefined, nowMs: store?.clock.nowMs() ?? Date.now() }, page),
      status,
    );
  const refuse = (context: Context, status: Status, title: string, text: string, more: Html | '' = ''): Response | Promise<Response> =>
    send(context, { title, body: html`<h1>${title}</h1>${notice('bad', text)}${more}` }, status);
  const view = (context: Context, { isKept, title, body }: RecordView, status?: Status): Response | Promise<Response> =>
    send(
      context,
      { title, body, path: context.req.path, query: context.req.method === 'GET' ? context.req.query() : {} },
      status ?? (isKept ? 200 : 404),
    );

  app.use(withHeaders, onlyOurHost(hosts));
  app.get('/style.css', (context) => context.body(STYLE, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  app.get('/icon.svg', (context) => context.body(ICON, 200, { 'Content-Type': 'image/svg+xml' }));
  app.use(
    onlyWithSecret(secret, (context) =>
      refuse(context, 401, 'Not without its address', 'Open the address that rerunsafe serve printed when it started. It changes with each start.'),
    ),
  );

  const list = (path: string, title: string, page: (query: Record<string, string>) => Promise<Html>): void => {
    app.get(path, async (context) => {
      const query = context.req.query();
      return store === undefined ? context.redirect('/find', 303) : send(context, { title, path, query, body: await page(query) });
    });
  };
  list('/', 'Now', () => nowPage(store as NonNullable<typeof store>));
  list('/runs', 'Runs', (query) => runsPage(store as NonNullable<typeof store>, query));
  list('/locks', 'Locks', (query) => locksPage(store as NonNullable<typeof store>, query));

  app.get('/find', async (context) => {
    const query = context.req.query();
    const { operation = '', scope, key, id } = query;
    if (id !== undefined) return context.redirect(`/record/${encodeURIComponent(id.trim())}`, 303);
    if (key === undefined) return send(context, { title: 'Find', path: '/find', body: findPage(store !== undefined) });
    const found = await findRun(place, { kind: 'run', operation, key, ...(scope ? { scope } : {}) });
    if (found.stored !== undefined) return context.redirect(`/record/${found.id}`, 303);
    const nothing = notice(
      'bad',
      `${found.name}: nothing is kept of it in this store. The key, its operation and its scope have to be exactly as they were.`,
    );
    return send(context, { title: 'Find', path: '/find', body: findPage(true, query, nothing) }, 404);
  });

  app.get('/record/:id', async (context) => {
    const said = SAID[context.req.query('said') ?? ''];
    return view(context, await recordPage(desk, context.req.param('id'), said === undefined ? {} : { before: notice('good', said) }));
  });
  app.get('/lock', async (context) => {
    const freed = context.req.query('said') === 'freed' ? { before: notice('good', 'Freed, by your word.') } : {};
    return view(context, await lockPage(desk, context.req.query('name') ?? '', freed));
  });

  /** The form of a page that this start has made, sent by a browser that shows it; else nothing is done. */
  const formOf = async (context: Context): Promise<Entered | Response> => {
    if (!allowWrites) return refuse(context, 403, 'Read-only', 'This page is read-only, and nothing was changed. Start it with --allow-writes.');
    const form = isOwnForm(context) ? await context.req.parseBody() : {};
    const texts = Object.fromEntries(Object.entries(form).filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
    return isEqual(texts.form, secret.formToken)
      ? texts
      : refuse(
          context,
          403,
          'Not from here',
          'This form was not sent by a page of this start of rerunsafe serve, and nothing was changed. Load the page again.',
        );
  };
  app.post(
    '*',
    bodyLimit({
      maxSize: MOST_FORM_BYTES,
      onError: (context) => refuse(context, 413, 'Too large', 'That is too large for a form; nothing was changed.'),
    }),
  );

  for (const verb of ['resolve', 'forget'] as const) {
    app.post(`/record/:id/${verb}`, async (context) => {
      const form = await formOf(context);
      if (form instanceof Response) return form;
      const id = context.req.param('id');
      try {
        const { exitCode, result, sentence, logged } = await sayOfRecord(desk, id, verb, form);
        log(logged);
        if (exitCode === EXIT.ok && result !== 'not-needed') return context.redirect(`/record/${id}?said=${verb === 'forget' ? verb : form.as}`, 303);
        return view(context, await recordPage(desk, id, { before: notice('bad', sentence) }), exitCode === EXIT.ok ? 200 : 409);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        return view(context, await recordPage(desk, id, { before: notice('bad', error.message), entered: { ...form, verb } }), 400);
      }
    });
  }
  app.post('/lock/unlock', async (context) => {
    const form = await formOf(context);
    if (form instanceof Response) return form;
    const { name = '' } = form;
    try {
      const { result, sentence, logged } = await sayOfLock(desk, form);
      log(logged);
      if (result === 'broken') return context.redirect(`/lock?${new URLSearchParams({ name, said: 'freed' })}`, 303);
      return view(context, await lockPage(desk, name, { before: notice('bad', sentence) }), 409);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return view(context, await lockPage(desk, name, { before: notice('bad', error.message), entered: form }), 400);
    }
  });

  app.notFound((context) => refuse(context, 404, 'Not here', 'There is no such page.'));
  app.onError((error, context) => {
    if (error instanceof UsageError) return refuse(context, 400, 'That cannot be', error.message);
    if (isRerunSafeError(error)) {
      const what = error.code === 'WRITE_UNKNOWN' ? html`<p>Look at it again before you say anything else.</p>` : '';
      return refuse(
        context,
        503,
        'The store does not answer as it should',
        `${error.code}: ${inCliWords(error.message)}`,
        html`${what}<p>This page goes on: load it again once that is mended.</p>`,
      );
    }
    onError(error);
    return refuse(context, 500, 'Something is wrong here', 'What it is stands in the log of rerunsafe serve.');
  });
  return app;
}

const SAID: Readonly<Record<string, string | undefined>> = {
  done: 'It is done, by your word, and does not run again.',
  'not-done': 'It was not done, by your word; the next run runs it.',
  forget: 'Forgotten; the next run runs it.',
};
