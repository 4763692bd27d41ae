import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { tryAcquire } from '../../../src/core/lease.ts';
import { commandStage, idOf, succeed } from '../commands/stage.ts';
import { HOSTILE, hostile, SECRET_VALUE, type Served, type Standings, standings, startPage } from './stage.ts';

const ORDER = recordId('payments/charge', [], ['order 4711']);
const CARD = recordId('payments/charge', [], ['order 12']);

describe('the pages of rerunsafe serve', () => {
  const stage = commandStage();
  let page: Served;
  let open: Served;
  let stand: Standings;
  beforeAll(async () => {
    stand = await standings(stage.store, stage.place.leases);
    await hostile(stage.store);
    page = await startPage(stage.place);
    open = await startPage(stage.place, { allowWrites: true, showValues: true });
  });
  afterAll(async () => {
    expect(await page.stop()).toBe(0);
    await open.stop();
    await stand.finish();
  });

  it('says now what is blocked, lapsed, running and held, and by whom', async () => {
    const { status, text } = await page.get('/');
    expect(status).toBe(200);
    for (const [head, count] of [
      ['Blocked', 2],
      ['Lapsed', 1],
      ['Running', 1],
      ['Held locks', 1],
    ])
      expect(text).toContain(`<h2>${head} <span class="count">${count}</span></h2>`);
    expect(text).toContain('<bdi>order 4711</bdi>');
    expect(text).toContain('<bdi>cron@db-1 pid 311</bdi>');
    expect(text).not.toContain('nightly report');
    expect(text).toMatch(/<time datetime="2026-01-01T00:00:00.000Z" title="2026-01-01T00:00:00.000Z">0ms ago<\/time>/);
  });

  it.each([
    ['completed', ['nightly report 2026-01-01', 'invoice 17', 'order 12']],
    ['released', ['import 2026-01']],
    ['blocked', ['order 4711']],
    ['lapsed', ['migrate 42']],
    ['running', ['certificate shop.example']],
  ])('lists what is %s, and nothing else', async (state, keys) => {
    const { text } = await page.get(`/runs?state=${state}`);
    for (const key of keys) expect(text).toContain(`<bdi>${key}</bdi>`);
    const badges = [...text.matchAll(/class="badge \w+">([\w ]+)</g)].map(([, word]) => word);
    expect(new Set(badges)).toEqual(new Set([state]));
    expect(text).not.toContain('<bdi>backup</bdi>');
  });

  it('narrows a list by operation and by what a key begins with', async () => {
    const byOperation = await page.get('/runs?operation=invoices%2Fsend');
    expect(byOperation.text).toContain('1 of 1 records');
    expect(byOperation.text).toContain('invoice 17');
    const byPrefix = await page.get('/runs?prefix=order+');
    expect(byPrefix.text).toContain('2 of 2 records');
    expect((await page.get('/runs?prefix=nothing')).text).toContain('No records');
    expect((await page.get('/locks')).text).toContain('<bdi>backup</bdi>');
  });

  it.each(['/runs?state=constructor', '/runs?after=1', '/runs?after=x.y', '/record/nonsense', '/lock?name='])(
    'refuses %s in a sentence, with 400',
    async (path) => {
      const { status, text } = await page.get(path);
      expect(status).toBe(400);
      expect(text).toContain('role="alert"');
      expect(page.warned).toEqual([]);
    },
  );

  it('finds a record by its key, and says so where there is none', async () => {
    const found = await page.get('/find?operation=script&key=migrate+42');
    expect([found.status, found.headers.get('location')]).toEqual([303, `/record/${idOf('migrate 42')}`]);
    const other = await page.get('/find?operation=script&scope=tenant&key=migrate+42');
    expect(other.status).toBe(404);
    expect(other.text).toContain('nothing is kept of it');
    const byId = await page.get(`/find?id=+${idOf('migrate 42')}+`);
    expect(byId.headers.get('location')).toBe(`/record/${idOf('migrate 42')}`);
    const none = await page.get(`/record/${idOf('never ran')}`);
    expect(none.status).toBe(404);
    expect(none.text).toContain('it has not run, was forgotten since');
  });

  it('tells a run in the words of status and show, and what its record does not know', async () => {
    const { text } = await page.get(`/record/${ORDER}`);
    expect(text).toContain('an attempt ended, and nobody knows how');
    expect((await page.get(`/record/${idOf('migrate 42')}`)).text).toContain('(ended by SIGKILL)');
    expect(text).toContain('<h2 id="timeline">Timeline</h2>');
    expect(text).toMatch(/created: the first claim/);
    expect(text).toContain('earlier renewals');
    expect(text).toContain(`rerunsafe resolve --id ${ORDER}`);
  });

  it('tells the steps of a run, done and begun, and how many attempts there were', async () => {
    const { text } = await page.get(`/record/${ORDER}`);
    expect(text).toContain('<bdi>reserve stock</bdi>: done');
    expect(text).toMatch(/<bdi>charge card<\/bdi>: was begun, and nobody knows what it did/);
    expect(text).toContain('when earlier attempts began and ended');
    expect(text).toContain('when each step began and ended');
  });

  it('I10 shows nothing of what a run returned or threw unless it is started with --show-values', async () => {
    for (const id of [recordId('invoices/send', [], ['invoice 17']), CARD]) {
      const { text } = await page.get(`/record/${id}`);
      expect(text).toContain('(not shown: --show-values)');
      expect(text).not.toContain(SECRET_VALUE);
      expect((await open.get(`/record/${id}`)).text).toContain(SECRET_VALUE);
    }
    const command = idOf('nightly report 2026-01-01');
    const veiled = (await page.get(`/record/${command}`)).text;
    expect(veiled).toContain('took 12s');
    for (const part of ['make deploy', 'half of a line', 'c0ffee']) {
      expect(veiled).not.toContain(part);
      expect((await open.get(`/record/${command}`)).text).toContain(part);
    }
  });

  it('shows what others have chosen as text: no markup, no control character, no turned direction', async () => {
    await tryAcquire(stage.place.leases, '<script>lock</script>', { label: '<i>x</i>' });
    const paths = ['/', '/runs', '/locks', `/record/${idOf(HOSTILE)}`, `/lock?name=${encodeURIComponent('<script>lock</script>')}`];
    for (const path of [...paths, `/runs?prefix=${encodeURIComponent('"><script>')}`, `/find?operation=${encodeURIComponent('"><script>')}&key=k`]) {
      for (const served of [page, open]) {
        const { text } = await served.get(path);
        expect(text, path).not.toMatch(/<img|<script|<i>|\u202E/);
        expect(text.includes('\u0007'), path).toBe(false);
      }
    }
    expect((await page.get('/runs')).text).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });

  it('gives a lock that is free, held and unknown its own word', async () => {
    expect((await page.get('/lock?name=backup')).text).toContain('>held</span>');
    expect((await page.get('/lock?name=nobody')).status).toBe(404);
  });

  it('loads again by itself only when asked to', async () => {
    expect((await page.get('/')).text).not.toContain('http-equiv="refresh"');
    const { text } = await page.get('/runs?state=running&refresh=1');
    expect(text).toContain('<meta http-equiv="refresh" content="10">');
    expect(text).toContain('href="/runs?state=running"');
  });

  it('pages through more than fit, each once, the newest first, also where many are of the same moment', async () => {
    for (let n = 0; n < 120; n++) {
      if (n % 30 === 0) stage.pass(1);
      await succeed(stage.store, `many ${n}`, n);
    }
    const seen: string[] = [];
    let path: string | undefined = '/runs?prefix=many&state=completed';
    let pages = 0;
    while (path !== undefined && pages++ < 10) {
      const { text } = await page.get(path);
      seen.push(...[...text.matchAll(/<bdi>(many \d+)<\/bdi>/g)].map(([, key = '']) => key));
      path = /<a href="([^"]+)" rel="next">/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(pages).toBe(3);
    expect(seen).toHaveLength(120);
    expect(new Set(seen).size).toBe(120);
    const part = (key: string): number => Math.floor(Number(key.slice(5)) / 30);
    expect(seen.map(part)).toEqual(seen.map(part).toSorted((a, b) => b - a));
  });
});
