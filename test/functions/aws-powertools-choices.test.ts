import { readFile } from 'node:fs/promises';
import { makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runOnce } from '../../src/index.ts';
import { powertoolsRecords } from '../../src/stores/dynamodb/index.ts';
import { lambdaContext } from '../support/aws-events.ts';
import { byPowertools, FUNCTION_NAME } from '../support/powertools.ts';
import { errorOf, type SideBySide, startSideBySide } from '../support/side-by-side.ts';

/** What docs/from-powertools.md says about keys, settings and cost: run here on the package that is installed, with ours beside it. */
let both: SideBySide;

beforeAll(async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  both = await startSideBySide();
});
beforeEach(() => both.reset());
afterAll(async () => {
  vi.restoreAllMocks();
  await both?.stop();
});

describe('keys and settings, by Powertools and by us', () => {
  it('P6 two callers whose key parts are all missing share an answer; ours are refused', async () => {
    const there = both.theirs(({ secret }: { secret: string }) => secret, { config: { eventKeyJmesPath: '[user.id, order.id]' } });
    expect(await there({ secret: 'of Ann' }, 60_000)).toBe('of Ann');
    expect(await there({ secret: 'of Bob' }, 60_000)).toBe('of Ann');

    const missing = [undefined, undefined] as unknown as string[];
    await expect(runOnce({ store: both.store, operation: 'probe', key: missing }, () => 'of Ann')).rejects.toMatchObject({ code: 'MISSING_KEY' });
  });

  it('P7 two functions with one payload share a record unless they have prefixes; ours have operations', async () => {
    const shared = both.layer();
    await byPowertools(shared, () => 'reserved')('P7', 60_000);
    expect(await byPowertools(shared, () => 'charged')('P7', 60_000)).toBe('reserved');

    await runOnce({ store: both.store, operation: 'reserve', key: 'P7' }, () => 'reserved');
    expect(await runOnce({ store: both.store, operation: 'charge', key: 'P7' }, () => 'charged')).toBe('charged');
  });

  it('P10 of two operations over one layer, the second is guarded by the settings of the first', async () => {
    const shared = both.layer();
    await byPowertools(shared, () => 'a', { config: { eventKeyJmesPath: 'user' }, keyPrefix: 'first' })({ user: 'P10', id: 1 }, 60_000);
    const second = byPowertools(shared, ({ id }: { user: string; id: number }) => id, { config: { eventKeyJmesPath: 'id' } });
    // Neither its own path nor its own prefix.
    expect(await second({ user: 'P10', id: 2 }, 60_000)).toBe('a');
  });

  it('P11 I8 a key that is not found means no guard at all, and 0 counts as not found; ours are told', async () => {
    let runs = 0;
    const there = both.theirs(() => ++runs, { config: { eventKeyJmesPath: 'orderId' } });
    expect([await there({}, 60_000), await there({}, 60_000)]).toEqual([1, 2]);
    const strict = both.theirs(() => ++runs, { config: { eventKeyJmesPath: 'orderId', throwOnNoIdempotencyKey: true } });
    const refused = { name: 'IdempotencyPersistenceLayerError', cause: { name: 'IdempotencyKeyError' } };
    expect(await errorOf(strict({}, 60_000))).toMatchObject(refused);
    expect(await errorOf(strict({ orderId: 0 }, 60_000))).toMatchObject(refused);

    await expect(both.ours(undefined as unknown as string, () => ++runs)).rejects.toMatchObject({ code: 'MISSING_KEY' });
    expect(await runOnce({ store: both.store, operation: 'probe', key: 0 }, () => 'zero')).toBe('zero');
  });

  it('P12 I2 the local cache hands one object to all; ours gives each caller a copy', async () => {
    const there = both.theirs(() => ({ items: ['a'] }), { config: { useLocalCache: true } });
    await there('P12', 60_000);
    (await there('P12', 60_000)).items.push('b');
    expect(await there('P12', 60_000)).toEqual({ items: ['a', 'b'] });

    const here = () => both.ours('P12', () => ({ items: ['a'] }));
    await here();
    (await here()).items.push('b');
    expect(await here()).toEqual({ items: ['a'] });
  });

  it('P14 the response hook is called for a replay, not for a first answer', async () => {
    const seen: string[] = [];
    const there = both.theirs(() => 'done', { config: { responseHook: (response) => `${seen.push('hook')} ${String(response)}` } });
    expect([await there('P14', 60_000), await there('P14', 60_000)]).toEqual(['done', '1 done']);
  });

  it('P15 I11 a first run takes two requests, a replay one; so do ours, and one read more while the old table is looked at', async () => {
    const count = async (call: () => Promise<unknown>): Promise<string[]> => {
      both.proxy.clear();
      await call();
      return both.proxy.requests.map(({ target = '' }) => target.split('.')[1] ?? '');
    };
    const there = both.theirs(() => 'done');
    expect(await count(() => there('P15', 60_000))).toEqual(['PutItem', 'UpdateItem']);
    const replays = await count(() => there('P15', 60_000));
    expect(await count(() => both.ours('P15', () => 1))).toEqual(['PutItem', 'PutItem']);
    expect(await count(() => both.ours('P15', () => 1))).toEqual(replays);
    const earlier = powertoolsRecords({ tableName: both.table, client: both.client, functionName: FUNCTION_NAME });
    const looking = earlier.first(
      () => 'P15',
      () => 'ours',
    );
    const moved = () => runOnce({ store: both.store, operation: 'P15', key: 'moved' }, looking);
    expect(await count(async () => expect(await moved()).toBe('done'))).toEqual(['PutItem', 'GetItem', 'PutItem']);
    expect(await count(moved)).toEqual(replays);
  });

  it('P16 a durable execution that is replayed runs over a finished record, whoever wrote it', async () => {
    let runs = 0;
    const persistenceStore = both.layer();
    const guarded = makeIdempotent(async (_event: { id: string }, _context: object) => ++runs, { persistenceStore });
    const durable = (durableExecutionMode: string) => ({ step: () => {}, durableExecutionMode, lambdaContext: lambdaContext() });
    expect(await guarded({ id: 'P16' }, lambdaContext())).toBe(1);
    expect(await guarded({ id: 'P16' }, durable('ExecutionMode'))).toBe(1);
    expect(await guarded({ id: 'P16' }, durable('ReplayMode'))).toBe(2);
  });

  it('are named on the page, and nothing else is', async () => {
    const named = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();
    const tests = ['aws-powertools-probes', 'aws-powertools-choices'].map((name) => readFile(new URL(`${name}.test.ts`, import.meta.url), 'utf8'));
    const here = named((await Promise.all(tests)).join('\n'), /it\('(P\d+) /g);
    expect(here).toHaveLength(16);
    expect(named(await readFile(new URL('../../docs/from-powertools.md', import.meta.url), 'utf8'), /\[(P\d+)\]/g)).toEqual(here);
  });
});
