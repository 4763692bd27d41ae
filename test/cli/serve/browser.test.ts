import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../scripts/run.ts';
import { recordId } from '../../../src/core/key.ts';
import { chromiumAvailable, startChromium } from '../../support/chromium.ts';
import { commandStage, end, idOf } from '../commands/stage.ts';
import { type Served, type Standings, standings, startPage } from './stage.ts';

const IMAGES = join(ROOT, 'docs/images');
/** Those that the page shows. */
const PICTURES = { light: ['now', 'runs', 'blocked'], dark: ['now', 'record', 'blocked'] };
const TAKES_PICTURES = process.env.RERUNSAFE_SCREENSHOTS === '1';
const ORDER = recordId('payments/charge', [], ['order 4711']);
const PATHS: readonly (readonly [name: string, path: string])[] = [
  ['now', '/'],
  ['runs', '/runs'],
  ['locks', '/locks'],
  ['find', '/find'],
  ['record', `/record/${idOf('nightly report 2026-01-01')}`],
  ['blocked', `/record/${ORDER}`],
  ['lock', '/lock?name=backup'],
  ['nothing', `/record/${idOf('never ran')}`],
];

describe.runIf(chromiumAvailable())('rerunsafe serve in Chromium', () => {
  const stage = commandStage();
  let served: Served;
  let browser: Browser;
  let stand: Standings;
  beforeAll(async () => {
    stand = await standings(stage.store, stage.place.leases, stage.pass);
    stage.pass(12_000);
    [served, browser] = await Promise.all([startPage(stage.place, { allowWrites: true }), startChromium()]);
  });
  afterAll(async () => {
    await browser.close();
    await served.stop();
    await stand.finish();
  });

  /** No scripts: the pages have none. `bypassCSP`: for the one that looks for faults. */
  async function open(more: Parameters<Browser['newContext']>[0] = {}): Promise<{ context: BrowserContext; page: Page; wrong: string[] }> {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1080, height: 720 }, ...more });
    const page = await context.newPage();
    const wrong: string[] = [];
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    page.on('requestfailed', (request) => wrong.push(request.url()));
    await page.goto(served.url);
    return { context, page, wrong };
  }
  const go = (page: Page, path: string) => page.goto(`${served.base}${path}`);

  it.runIf(TAKES_PICTURES)('takes the pictures of docs/operators.md', async () => {
    mkdirSync(IMAGES, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      const { context, page } = await open({ colorScheme, viewport: { width: 960, height: 860 } });
      for (const [name, path] of PATHS.filter(([each]) => PICTURES[colorScheme].includes(each))) {
        await go(page, path);
        // Not the user and the host of whoever takes the picture.
        if (name === 'blocked') await page.getByLabel('Who says so').first().fill('ann@build-7');
        await page.screenshot({ path: join(IMAGES, `operators-${name}-${colorScheme}.png`), fullPage: name === 'now' });
      }
      await context.close();
    }
  });

  it('opens by the address that was printed, without script, and leaves no token in the address bar', async () => {
    const { context, page, wrong } = await open();
    expect(page.url()).toBe(`${served.base}/`);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Now');
    expect(wrong).toEqual([]);
    await context.close();
  });

  it.each(['light', 'dark'] as const)(
    'has no fault that axe finds, in %s',
    async (colorScheme) => {
      const { context, page } = await open({ colorScheme, javaScriptEnabled: true, bypassCSP: true });
      for (const [name, path] of PATHS) {
        await go(page, path);
        await page.addScriptTag({ content: axe.source });
        const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[]; passes: { id: string }[] };
        expect(
          found.passes.map(({ id }) => id),
          name,
        ).toEqual(expect.arrayContaining(['color-contrast', 'page-has-heading-one', 'bypass']));
        expect(found.violations.map(({ id, nodes }) => [name, id, nodes.map(({ html }) => html)])).toEqual([]);
      }
      await context.close();
    },
    60_000,
  );

  it('axe would find a fault', async () => {
    const { context, page } = await open({ javaScriptEnabled: true, bypassCSP: true });
    await page.addScriptTag({ content: axe.source });
    await page.evaluate("for (const p of document.querySelectorAll('main p')) p.style.color = '#ddd'");
    const found = (await page.evaluate('axe.run()')) as { violations: { id: string }[] };
    expect(found.violations.map(({ id }) => id)).toEqual(['color-contrast']);
    await context.close();
  });

  it('fits on a screen of 320 px, sideways nothing is hidden', async () => {
    const { context, page } = await open({ viewport: { width: 320, height: 640 }, javaScriptEnabled: true });
    await end(stage.store, `long-${'x'.repeat(300)}`, 'block');
    for (const [name, path] of [...PATHS, ['long', `/record/${idOf(`long-${'x'.repeat(300)}`)}`] as const]) {
      await go(page, path);
      expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, 320]);
    }
    await context.close();
  });

  it('tells a screen reader what is a table, also on a narrow screen', async () => {
    const { context, page } = await open({ viewport: { width: 320, height: 640 } });
    await go(page, '/runs');
    const tree = await page.locator('table').ariaSnapshot();
    expect(tree).toMatch(/^- table "Runs, the newest first"/);
    expect(tree).toContain('columnheader "Held by"');
    expect(tree).toContain('row "blocked order 4711');
    await context.close();
  });

  it('I8 can be walked with the keyboard alone: from the list to a record, resolved with a reason, and seen', async () => {
    await end(stage.store, 'by keyboard', 'block');
    const { context, page } = await open();
    const press = async (key: string, times = 1): Promise<void> => {
      for (let n = 0; n < times; n++) await page.keyboard.press(key);
    };
    /** Tab, until what has the focus is so named. */
    const tabTo = async (name: string): Promise<void> => {
      for (let n = 0; n < 40; n++) {
        await press('Tab');
        if ((await page.locator(':focus').count()) > 0 && (await page.locator(':focus').ariaSnapshot()).includes(name)) return;
      }
      expect.fail(`no Tab leads to ${name}`);
    };
    await press('Tab');
    expect(await page.locator(':focus').ariaSnapshot()).toContain('Skip to the content');
    await tabTo('Runs');
    await press('Enter');
    await page.waitForURL('**/runs');
    await tabTo('by keyboard');
    await press('Enter');
    await page.waitForURL('**/record/*');
    await tabTo('It is done');
    await press('Space');
    await tabTo('Why');
    await page.keyboard.type('the log says so');
    await tabTo('Resolve');
    await press('Enter');
    await page.waitForURL('**/record/*said=done');
    expect(await page.getByRole('status').textContent()).toContain('It is done, by your word');
    expect(await page.getByText('the log says so').count()).toBeGreaterThan(0);
    expect((await stage.store.read(idOf('by keyboard')))?.record.state).toBe('completed');
    await context.close();
  });

  it('I4 refuses a page that is stale, and shows how it stands now', async () => {
    await end(stage.store, 'two tabs', 'block');
    const { context, page } = await open();
    const other = await context.newPage();
    const path = `/record/${idOf('two tabs')}`;
    await Promise.all([go(page, path), go(other, path)]);
    for (const [tab, answer] of [
      [page, 'It was not done'],
      [other, 'It is done'],
    ] as const) {
      await tab.getByLabel(answer).check();
      await tab.locator('form').first().getByLabel('Why').fill('I know');
      await tab.getByRole('button', { name: 'Resolve' }).click();
    }
    expect(await page.getByRole('status').textContent()).toContain('It was not done');
    expect(await other.getByRole('alert').textContent()).toContain('It has changed since the page was made');
    expect((await stage.store.read(idOf('two tabs')))?.record.state).toBe('released');
    await context.close();
  });

  it('is of no use to a page of another site, which can neither send its forms nor frame it', async () => {
    await end(stage.store, 'foreign', 'block');
    const { context, page } = await open({ javaScriptEnabled: true });
    const strange = await context.newPage();
    await strange.route('http://evil.example/**', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${served.base}/record/${idOf('foreign')}/forget"><input name="why" value="x"><input name="by" value="x"></form><iframe src="${served.base}/"></iframe>`,
      }),
    );
    await strange.goto('http://evil.example/');
    expect(await strange.frames()[1]?.content()).not.toContain('foreign');
    await Promise.all([strange.waitForNavigation(), strange.evaluate('document.forms[0].submit()')]);
    expect(await strange.content()).toContain('Not without its address');
    expect((await stage.store.read(idOf('foreign')))?.record.state).toBe('blocked');
    expect(page.url()).toBe(`${served.base}/`);
    await context.close();
  });
});
