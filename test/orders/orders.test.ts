import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Ran, ROOT, run } from '../../scripts/run.ts';
import { byLength } from '../support/long.ts';
import { countsIn, printedOn, shapeOf, summaryIn } from './output.ts';

const SCRIPT = join(ROOT, 'scripts/orders/run.ts');
const RUNS = byLength(100, 200, 1_000);
const STORES = byLength(['sqlite'], ['sqlite'], ['sqlite', 'postgres', 'dynamodb', 'azure-tables']);
/** Of a machine that does other things too; alone, a thousand runs on SQLite take half a minute. */
const LIMIT_MS = 620_000;
const page = readFileSync(join(ROOT, 'docs/orders.md'), 'utf8');
const ordersOf = (...args: readonly string[]): Promise<Ran> => run(SCRIPT, args);
const doubledIn = (output: string): number => countsIn(output).reduce((sum, { doneTwice }) => sum + doneTwice, 0);

describe.each(STORES)(`${RUNS} orders on %s, while providers crash and processes are killed and paused`, (store) => {
  let ran: Ran;
  beforeAll(async () => {
    ran = await ordersOf('--runs', String(RUNS), '--store', store);
  }, LIMIT_MS);

  it('I1 no provider saw two effects for one derived key, and every order has each of its effects', () => {
    const once = { keysWithTwo: 0, doneTwice: 0, notDone: 0 };
    expect(countsIn(ran.output), ran.output).toEqual([
      { provider: 'payments', effects: RUNS, done: RUNS, calls: expect.any(Number), ...once },
      { provider: 'carrier', effects: RUNS, done: RUNS, calls: expect.any(Number), ...once },
      { provider: 'mails', effects: 2 * RUNS, done: 2 * RUNS, calls: expect.any(Number), ...once },
    ]);
    expect(ran.ok, ran.output).toBe(true);
  });

  it('I2 I3 I10 every order ends, and its callers have one receipt, of what was done', () => {
    const { finished, differing, untrue } = summaryIn(ran.output);
    expect({ finished, differing, untrue }, ran.output).toEqual({ finished: RUNS, differing: 0, untrue: 0 });
  });

  it('was no quiet time: processes were killed, and providers were asked again', () => {
    const { killed, wrong, attempts } = summaryIn(ran.output);
    expect(killed, ran.output).toBeGreaterThanOrEqual(RUNS / 100);
    expect(wrong, ran.output).toBeGreaterThan(RUNS / 2);
    expect(attempts, ran.output).toBeGreaterThan(1.5 * RUNS);
  });

  it('prints what docs/orders.md prints, but for figures', () => {
    const named = ran.output.replace(/· (PostgreSQL|DynamoDB|Table Storage) ·/, '· SQLite ·');
    expect(shapeOf(named)).toBe(shapeOf(printedOn(page, 'npm run orders')));
  });
});

describe('the orders without what keeps them from happening twice', () => {
  it(
    'with another key for each call, providers do twice what they were asked for, and the exit code says so',
    async () => {
      const { ok, output } = await ordersOf('--runs', '60', '--without-keys');
      expect(ok).toBe(false);
      expect(
        countsIn(output).map(({ doneTwice }) => doneTwice > 0),
        output,
      ).toEqual([true, true, true]);
      expect(shapeOf(output)).toBe(shapeOf(printedOn(page, 'npm run orders -- --runs 200 --without-keys')));
    },
    LIMIT_MS,
  );

  it(
    'with a carrier that keeps no deadline, and is asked at once, some parcel is sent twice',
    async () => {
      let output = '';
      // In a hundred orders it is three or so.
      for (let seed = 1; doubledIn(output) === 0 && seed <= 6; seed++) {
        ({ output } = await ordersOf('--runs', '100', '--without-deadlines', '--seed', String(seed)));
      }
      const [payments, carrier, mails] = countsIn(output);
      expect(carrier?.doneTwice, output).toBeGreaterThan(0);
      expect([payments?.doneTwice, mails?.doneTwice]).toEqual([0, 0]);
      expect(shapeOf(output)).toBe(shapeOf(printedOn(page, 'npm run orders -- --runs 500 --without-deadlines')));
    },
    LIMIT_MS,
  );
});

describe('npm run orders', () => {
  it.each([
    [['--store', 'redis'], '--store is one of sqlite, postgres, dynamodb, azure-tables\n'],
    [['--runs', '0'], '--runs is a number, at least 1\n'],
  ])('refuses %j', async (args, said) => {
    expect(await ordersOf(...args)).toMatchObject({ ok: false, output: said });
  });
});

describe('the page on orders', () => {
  it('shows the function that runs', () => {
    const source = readFileSync(join(ROOT, 'functions/orders/fulfil.ts'), 'utf8');
    expect(page).toContain(source.slice(source.indexOf('export const fulfil')).trim());
  });

  it('shows a thousand runs in which nothing came twice, and the two controls in which something did', () => {
    const shown = printedOn(page, 'npm run orders');
    expect(countsIn(shown).map(({ effects, keysWithTwo, doneTwice, notDone }) => [effects, keysWithTwo, doneTwice, notDone])).toEqual([
      [1000, 0, 0, 0],
      [1000, 0, 0, 0],
      [2000, 0, 0, 0],
    ]);
    expect(summaryIn(shown)).toMatchObject({ finished: 1000, differing: 0, untrue: 0 });
    for (const control of ['--runs 200 --without-keys', '--runs 500 --without-deadlines']) {
      expect(doubledIn(printedOn(page, `npm run orders -- ${control}`)), control).toBeGreaterThan(0);
    }
  });
});
