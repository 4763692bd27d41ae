import { randomUUID } from 'node:crypto';
import { createClientPool } from 'redis';
import { describe, expect, it } from 'vitest';
import { FOREVER_MS } from '../../../src/core/record.ts';
import { leaseRowId } from '../../../src/core/store-leases.ts';
import { runOnce, storeLeases, tryRunOnce } from '../../../src/index.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { all, completed, conflict, freshId, put, sample, written } from '../../../src/testing/record-store/subject.ts';
import { redisAvailable } from '../../support/redis.ts';
import { CLIENT_KINDS } from '../../support/redis-clients.ts';
import { ROW, redisStage } from './redis-stage.ts';

const HOUR_MS = 3_600_000;

describe.runIf(redisAvailable())('redisStore', () => {
  const stage = redisStage();

  describe('options', () => {
    it('refuses wrong ones, all of them in one message', async () => {
      const wrong = {
        client: {},
        prefix: '',
        requestTimeoutMs: 0,
        uncertaintyMs: -1,
        maxRecordBytes: 1,
        acceptFailoverLoss: 'yes',
        url: 'redis://x',
      };
      expect(() => redisStore(wrong as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS', facts: { problems: Object.keys(wrong).map((name) => expect.stringContaining(name)) } }),
      );
      expect(() => redisStore({} as never)).toThrow(/client is missing/);
    });

    it("I8 onUnknown: 'block' is refused until the loss in a failover is accepted", async () => {
      const call = async (acceptFailoverLoss: boolean) =>
        runOnce({ store: await stage.store('redis', { acceptFailoverLoss }), operation: 'pay', key: randomUUID(), onUnknown: 'block' }, () => 1);
      await expect(call(false)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('block') });
      expect(await call(true)).toBe(1);
    });

    it.each([
      ['allkeys-lru', 'running records'],
      ['volatile-ttl', 'completed records'],
    ])('I3 setUp refuses a server that throws records away by itself (%s), and says which', async (policy, lost) => {
      const store = await stage.store();
      await stage.ask('CONFIG', 'SET', 'maxmemory-policy', policy);
      try {
        // Without a limit it never does.
        await store.setUp();
        await stage.ask('CONFIG', 'SET', 'maxmemory', '100mb');
        await expect(store.setUp()).rejects.toMatchObject({
          code: 'STORE_MISCONFIGURED',
          message: expect.stringMatching(new RegExp(`${policy}.*${lost}.*noeviction`)),
        });
        await stage.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
        await store.setUp();
      } finally {
        await stage.ask('CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
      }
    });
  });

  describe('what lies in the server', () => {
    it('a record is a hash with a field for each column, numbers in full, and nothing else is written', async () => {
      const [store, id, record] = [await stage.store(), freshId(), completed({ label: 'order-1' })];
      const { token } = await put(store, id, record);
      const fields = (await stage.ask('HGETALL', ROW(id))) as Record<string, string>;
      const { schema, operation, state, owner, leaseMs, label } = record;
      expect(fields).toMatchObject({ schema: `${schema}`, operation, state, owner, token: `${token}`, leaseMs: `${leaseMs}`, label });
      expect(fields.writtenAtMs).toMatch(/^\d{13}$/);
      expect(JSON.parse(fields.body ?? '')).toEqual({ outcome: record.outcome });
      expect(await stage.ask('DBSIZE')).toBe(1);
    });

    it('I3 only completed and released records end by themselves, an hour after their retention; what runs again does not', async () => {
      const store = await stage.store('redis', { uncertaintyMs: 500 });
      const endsIn = async (id: string): Promise<number> => Number(await stage.ask('PTTL', ROW(id)));
      for (const state of ['completed', 'released'] as const) {
        const id = freshId();
        const { version } = await put(store, id, sample({ state, retentionMs: 60_000 }));
        const leftMs = await endsIn(id);
        expect(leftMs).toBeGreaterThan(HOUR_MS + 50_000);
        expect(leftMs).toBeLessThanOrEqual(HOUR_MS + 60_500);
        written(await store.replace(id, sample({ attempt: 2 }), version));
        expect(await endsIn(id)).toBe(-1);
      }
      for (const record of [sample(), sample({ state: 'blocked' }), sample({ state: 'released', retentionMs: FOREVER_MS })]) {
        const id = freshId();
        await put(store, id, record);
        expect(await endsIn(id)).toBe(-1);
      }
      const leases = storeLeases(store);
      const owner = randomUUID();
      const got = await leases.acquire('nightly', { owner, leaseMs: 10_000 });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      expect(await endsIn(leaseRowId('nightly'))).toBe(-1);
      await leases.release('nightly', { owner, token: got.token });
      expect(await endsIn(leaseRowId('nightly'))).toBe(-1);
    });

    it('the prefix is taken literally, and keys of others are neither listed nor purged', async () => {
      const client = await stage.client('ioredis');
      const store = await stage.store('ioredis', { client, prefix: 'a*[b]?:' });
      const other = await stage.store('ioredis', { client, prefix: 'abc[b]x:' });
      const [id, theirs] = [freshId(), freshId()];
      await put(store, id, sample());
      await put(other, theirs, sample({ leaseMs: 0 }));
      await stage.ask('HSET', 'somebody', 'a', '1');
      await stage.ask('SET', 'a*[b]?:text', 'no hash');
      expect((await all(store, {})).map((found) => found.id)).toEqual([id]);
      expect((await all(other, {})).map((found) => found.id)).toEqual([theirs]);
    });

    it('more records than one step of a scan are listed once each, and purged by age with the version that was seen', async () => {
      const store = await stage.store();
      const ids = Array.from({ length: 1_500 }, freshId);
      for (let at = 0; at < ids.length; at += 100) await Promise.all(ids.slice(at, at + 100).map((id) => put(store, id, sample({ leaseMs: 1_000 }))));
      expect((await all(store, {})).map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(await store.purge({ lapsedOlderThanMs: 1 })).toEqual({ removed: 0 });
      const old = ids.slice(0, 700);
      for (const id of old) await stage.ask('HINCRBY', ROW(id), 'writtenAtMs', String(-2 * HOUR_MS));
      expect(await store.purge({ lapsedOlderThanMs: HOUR_MS })).toEqual({ removed: old.length });
      expect(await stage.ask('DBSIZE')).toBe(ids.length - old.length);
    });

    it('a hash that is no record, or one of a later version, is said to be that, and stops no clean-up of later versions', async () => {
      const store = await stage.store();
      await stage.ask('HSET', ROW('odd'), 'state', 'running');
      await expect(store.read('odd')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      await stage.ask('DEL', ROW('odd'));
      const id = freshId();
      await put(store, id, sample({ schema: 99 }));
      await expect(store.read(id)).rejects.toMatchObject({ code: 'RECORD_TOO_NEW' });
      expect(await store.purge({ lapsedOlderThanMs: 0 })).toEqual({ removed: 0 });
    });
  });

  describe.each(CLIENT_KINDS)('with %s', (kind) => {
    it('I5 tokens grow over FLUSHALL, for records and for leases', async () => {
      const store = await stage.store(kind);
      const leases = storeLeases(store);
      const tokens: number[] = [];
      const leaseTokens: number[] = [];
      for (let round = 0; round < 4; round++) {
        // The caller asks for far less than the server has given before.
        const receipt = await put(store, 'the record', sample({ token: 1 }));
        tokens.push(receipt.token as number);
        const again = written(await store.replace('the record', sample({ token: (receipt.token as number) + 1 }), receipt.version));
        tokens.push(again.token as number);
        const got = await leases.acquire('nightly', { owner: randomUUID(), leaseMs: 10_000 });
        if (got.kind !== 'acquired') throw new Error(got.kind);
        leaseTokens.push(got.token);
        await leases.break('nightly');
        leaseTokens.push((await leases.read('nightly'))?.token as number);
        await pauseMs(5);
        await stage.ask('FLUSHALL');
      }
      growing(tokens);
      growing(leaseTokens);
      expect(Math.min(...tokens, ...leaseTokens)).toBeGreaterThan(Date.now() - 60_000);
    });

    it('I5 tokens grow when what keeps them was set back, for records and for leases', async () => {
      const store = await stage.store(kind);
      const leases = storeLeases(store);
      const first = await tryRunOnce({ store, operation: 'x', key: 'k' }, (run) => {
        throw new Error(String(run.token));
      }).catch((error: Error) => Number(error.message));
      const tokens = [first as number];
      const leaseTokens: number[] = [];
      for (let round = 0; round < 3; round++) {
        for (const key of (await stage.ask('KEYS', ROW('*'))) as string[]) await stage.ask('HSET', key, 'token', '1');
        await pauseMs(5);
        await tryRunOnce({ store, operation: 'x', key: 'k' }, (run) => {
          tokens.push(run.token as number);
          throw new Error('again');
        }).catch(() => {});
        const owner = randomUUID();
        const got = await leases.acquire('nightly', { owner, leaseMs: 10_000 });
        if (got.kind !== 'acquired') throw new Error(got.kind);
        leaseTokens.push(got.token);
        await leases.release('nightly', { owner, token: got.token });
      }
      growing(tokens);
      growing(leaseTokens);
    });

    it('scripts that the server has forgotten are sent anew', async () => {
      const [store, id] = [await stage.store(kind), freshId()];
      const forget = () => stage.ask('SCRIPT', 'FLUSH');
      await forget();
      const { version } = await put(store, id, sample());
      await forget();
      const second = written(await store.replace(id, completed(), version));
      await forget();
      expect((await store.read(id))?.version).toBe(second.version);
      await forget();
      conflict(await store.create(id, sample()));
      await forget();
      expect(await store.delete(id, second.version)).toMatchObject({ ok: true });
    });

    it('I1 of 64 callers at once one runs the work, and all get its value', async () => {
      const stores = await Promise.all([stage.store(kind), stage.store(kind)]);
      let runs = 0;
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, n) =>
          runOnce(
            { store: stores[n % 2] as (typeof stores)[number], operation: 'charge', key: 'order-1', onInFlight: { waitMs: 20_000 } },
            async () => {
              runs += 1;
              await pauseMs(50);
              return { receipt: 7 };
            },
          ),
        ),
      );
      expect(runs).toBe(1);
      expect(answers).toEqual(Array.from({ length: 64 }, () => ({ receipt: 7 })));
    });

    it('I11 a first run costs 2 requests, a replay and a key in flight 1, a takeover 3, a step 1; a lease 2, 1 and 1', async () => {
      const store = await stage.store(kind);
      const options = { store, operation: 'cost', key: 'k', leaseMs: 30_000 };
      // The server knows the scripts.
      await store.read('x');
      await put(store, freshId(), sample());
      const counted = async (work: () => Promise<unknown>): Promise<number> => {
        await stage.ask('CONFIG', 'RESETSTAT');
        await work();
        const stats = String(await stage.ask('INFO', 'commandstats'));
        return ['eval', 'evalsha'].reduce((sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0), 0);
      };
      expect(await counted(() => runOnce(options, () => ({ receipt: 'x'.repeat(2_000) })))).toBe(2);
      expect(await counted(() => runOnce(options, () => ({ receipt: '' })))).toBe(1);
      const inside = await runOnce({ ...options, key: 'other' }, () => counted(() => tryRunOnce({ ...options, key: 'other' }, () => 0)));
      expect(inside).toBe(1);
      // Left behind by somebody who died.
      for (const key of (await stage.ask('KEYS', ROW('r1_*'))) as string[]) await stage.ask('HSET', key, 'state', 'running', 'leaseMs', '0');
      expect(await counted(() => runOnce(options, () => 1))).toBe(3);
      const stepped = { ...options, key: 'with a step' };
      expect(await counted(() => runOnce(stepped, (run) => run.step('charge', () => 1)))).toBe(3);

      const leases = storeLeases(store);
      const owner = randomUUID();
      let token = 0;
      const acquire = async (): Promise<void> => {
        const got = await leases.acquire('nightly', { owner, leaseMs: 30_000 });
        if (got.kind === 'acquired') token = got.token;
      };
      expect(await counted(acquire)).toBe(2);
      expect(await counted(() => leases.renew('nightly', { owner, token, leaseMs: 30_000 }))).toBe(1);
      expect(await counted(() => leases.release('nightly', { owner, token }))).toBe(1);
    });
  });

  it('a pool, another protocol and another mapping of replies change nothing', async () => {
    const pool = createClientPool({ url: stage.server.url, RESP: 2 }, { maximum: 3 }).withTypeMapping({ 36: Buffer });
    pool.on('error', () => {});
    await pool.connect();
    stage.opened({ client: pool, close: () => void pool.destroy() });
    const store = redisStore({ client: pool });
    const ids = Array.from({ length: 20 }, freshId);
    await Promise.all(ids.map((id) => put(store, id, completed())));
    expect((await all(store, { state: 'completed' })).map(({ id }) => id).sort()).toEqual([...ids].sort());
    await store.setUp();
  });
});

const growing = (tokens: readonly number[]): void => expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
/** Tokens are the time in ms: nobody flushes a server twice in one. */
const pauseMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
