import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve } from '../../../src/cli/serve/serve.ts';
import { commandStage, end, idOf, placeOf, printed } from '../commands/stage.ts';
import { type Served, startPage } from './stage.ts';

describe('who may look at rerunsafe serve, and who may write', () => {
  const stage = commandStage();
  let page: Served;
  let readOnly: Served;
  const id = idOf('shut');
  const stateOf = async (): Promise<string | undefined> => (await stage.store.read(id))?.record.state;
  beforeAll(async () => {
    await end(stage.store, 'shut', 'block');
    page = await startPage(stage.place, { allowWrites: true });
    readOnly = await startPage(stage.place);
  });
  afterAll(async () => {
    await page.stop();
    await readOnly.stop();
  });
  const form = async () => ({ ...(await page.get(`/record/${id}`)).hidden, as: 'done', why: 'seen', by: 'ann' });
  /** fetch sets Host by itself. */
  const withHost = (host: string, path = '/'): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request(`${page.base}${path}`, { headers: { host, cookie: page.cookie } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });

  it('shows nothing without its cookie, with one that is nearly right, or with that of another start', async () => {
    const changed = page.cookie.slice(0, -1) + (page.cookie.endsWith('A') ? 'B' : 'A');
    for (const cookie of ['', changed, readOnly.cookie, `${page.cookie.split('=')[0]}=`]) {
      const { status, text } = await page.get('/runs', { cookie });
      expect(status).toBe(401);
      expect(text).not.toContain('shut');
    }
    expect((await page.get(`/?token=${'A'.repeat(43)}`, { cookie: '' })).status).toBe(401);
    expect((await page.get('/runs')).text).toContain('shut');
  });

  it('takes the token once from its address, and leaves it neither there nor in what others could read', async () => {
    const first = await fetch(page.url, { redirect: 'manual' });
    expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
    const cookie = String(first.headers.get('set-cookie'));
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    const token = new URL(page.url).searchParams.get('token') as string;
    expect(token.length).toBeGreaterThanOrEqual(43);
    expect(cookie).not.toContain(token);
    expect((await page.get('/')).text).not.toContain(token);
  });

  it.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example', '[::2]', '0.0.0.0', '127.0.0.1@evil.example'])(
    'answers for no other host: %j (DNS rebinding)',
    async (host) => {
      expect([400, 421]).toContain(await withHost(host));
    },
  );

  it('answers for this machine, also through a tunnel from another port', async () => {
    expect(await withHost(page.host)).toBe(200);
    expect(await withHost('localhost:9000')).toBe(200);
    expect(await withHost('LOCALHOST')).toBe(200);
  });

  it.each<readonly [string, Record<string, string>]>([
    ['a form of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a form of another port of this machine', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }],
    ['a browser that says only where it comes from', { origin: 'null', 'sec-fetch-site': 'same-origin' }],
    ['a form that nobody sent', { 'sec-fetch-site': 'none' }],
    ['another scheme', { origin: 'https://127.0.0.1' }],
  ])('refuses %s, and changes nothing', async (_, headers) => {
    const { status } = await page.post(`/record/${id}/resolve`, await form(), headers);
    expect(status).toBe(403);
    expect(await stateOf()).toBe('blocked');
  });

  it('refuses a form that says nothing of where it comes from, has no token of the page, or that of another start', async () => {
    const bare = await fetch(`${page.base}/record/${id}/resolve`, {
      method: 'POST',
      body: new URLSearchParams(await form()),
      headers: { cookie: page.cookie, 'sec-fetch-site': '' },
      redirect: 'manual',
    });
    expect(bare.status).toBe(403);
    for (const wrong of ['', 'A'.repeat(43), page.cookie]) {
      expect((await page.post(`/record/${id}/resolve`, { ...(await form()), form: wrong })).status).toBe(403);
    }
    expect((await page.post(`/record/${id}/resolve`, await form(), { cookie: '' })).status).toBe(401);
    expect(await stateOf()).toBe('blocked');
  });

  it('is read-only unless told otherwise: no form, and a form that is sent all the same is refused', async () => {
    expect((await readOnly.get(`/record/${id}`)).text).not.toContain('method="post"');
    for (const path of [`/record/${id}/resolve`, `/record/${id}/forget`, '/lock/unlock']) {
      expect((await readOnly.post(path, await form())).status).toBe(403);
    }
    expect(await stateOf()).toBe('blocked');
  });

  it('sends each answer with what keeps others from framing, caching, guessing and running scripts', async () => {
    for (const { headers } of [await page.get('/'), await page.get('/nowhere'), await page.get('/', { cookie: '' }), await page.get('/style.css')]) {
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; (?!.*script)(?!.*unsafe).*frame-ancestors 'none'/);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
    const { text } = await page.get(`/record/${id}`);
    expect(text).not.toMatch(/<script|style="| on\w+="|https?:\/\/(?!127)/);
  });

  it('takes no form that is too large, and no method that it does not know', async () => {
    expect((await page.post(`/record/${id}/resolve`, { ...(await form()), why: 'x'.repeat(100_000) })).status).toBe(413);
    expect((await fetch(`${page.base}/`, { method: 'DELETE', headers: { cookie: page.cookie } })).status).toBe(404);
    expect(page.warned).toEqual([]);
  });

  it('listens where others reach it only when told twice, and says what that means', async () => {
    const ask = (more: object, signal = AbortSignal.abort()) => {
      const warned: string[] = [];
      const ended = serve({ place: placeOf(stage.store), out: printed().out, warn: (text) => warned.push(text), signal, ...more });
      return { warned, ended };
    };
    await expect(ask({ host: '0.0.0.0' }).ended).rejects.toThrow(/can be reached by others.*--allow-remote/);
    const told = ask({ host: '0.0.0.0', allowRemote: true });
    expect(await told.ended).toBe(0);
    expect(told.warned.join()).toContain('nothing is encrypted');
    await expect(ask({ host: '203.0.113.7', allowRemote: true }).ended).rejects.toThrow(/--host 203\.0\.113\.7/);
    await expect(ask({ port: Number(new URL(page.base).port) }).ended).rejects.toThrow(/EADDRINUSE/);
  });
});
