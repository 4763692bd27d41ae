import { describe, expect, it } from 'vitest';
import { runOnce } from '../../../src/index.ts';
import { serverTime } from '../../../src/stores/postgres/server-time.ts';
import { escaped, unescaped } from '../../../src/stores/postgres/text.ts';
import { completed, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresStage } from './postgres-subject.ts';

const HARD = [
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  '😀',
  '\\u0000',
  '\\\\u0000',
  '\\u005cu0041',
  '\\',
  'u',
  '\\\0u',
  "'; --",
  'Grüße',
  '\u2028',
  '',
  '\\n',
];

describe('text that PostgreSQL cannot hold', () => {
  it.each(HARD)('%j comes back as it was', (text) => {
    expect(unescaped(escaped(text))).toBe(text);
    expect(escaped(text)).not.toMatch(/\0|\p{Surrogate}/u);
  });

  it('comes back as it was, whatever is put together', () => {
    const parts = ['\\', 'u', '0', '5', 'c', '\0', '\ud83d', '\ude00', 'x'];
    for (let seed = 0; seed < 20_000; seed++) {
      const text = Array.from({ length: 8 }, (_, at) => parts[(seed * 7_919 + at * (seed % 97)) % parts.length]).join('');
      expect(unescaped(escaped(text))).toBe(text);
    }
  });
});

describe("the server's time without a request", () => {
  it('is moved by an answer into what the answer proves, and no further', () => {
    let wallMs = 1_000_000;
    const time = serverTime(() => wallMs);
    expect(time.nowMs()).toBe(1_000_000);
    // Within the bounds: believed as it is.
    time.learn(1_000_050, 1_000_000, 1_000_100);
    expect(time.nowMs()).toBe(1_000_000);
    // The server is at least 500 ahead.
    time.learn(1_000_600, 1_000_000, 1_000_100);
    expect(time.nowMs()).toBe(1_000_500);
    // Looked at after an hour in a frozen sandbox: the bounds are wide, and what is known stays.
    time.learn(1_000_600, 1_000_000, 4_600_000);
    expect(time.nowMs()).toBe(1_000_500);
    // Our own clock was set back: nothing is learnt from an answer on the way, the next one tells.
    time.learn(1_000_700, 1_000_200, 900_000);
    wallMs = 900_000;
    time.learn(1_000_700, 899_990, 900_000);
    expect(Math.abs(time.nowMs() - 1_000_700)).toBeLessThanOrEqual(11);
  });
});

describe.runIf(await postgresAvailable())('rows of postgresStore', () => {
  const stage = postgresStage();

  it('keep every string: NUL, halves of pairs and backslashes, in values, labels, errors and steps', async () => {
    const store = await stage.fresh();
    for (const [at, text] of HARD.entries()) {
      const record = completed({
        label: text,
        holder: text,
        fingerprint: text,
        owner: `owner ${text}`,
        outcome: { kind: 'value', value: { [text]: [text] } },
        steps: { [`step ${text}`]: { outcome: { kind: 'value', value: text } } },
      });
      const id = freshId();
      const { token } = await put(store, id, record);
      expect((await store.read(id))?.record, `string ${at}`).toMatchObject({ ...record, token });
    }
    expect(await runOnce({ store, operation: 'o', key: 'a\0b' }, () => 'c\0d\ud800')).toBe('c\0d\ud800');
    expect(await runOnce({ store, operation: 'o', key: 'a\0b' }, () => 'again')).toBe('c\0d\ud800');
  });

  it('are found by an operation that holds such text too', async () => {
    const store = await stage.fresh();
    const operation = 'reports\\u0041';
    await put(store, freshId(), sample({ operation }));
    await put(store, freshId(), sample({ operation: 'reportsA' }));
    const found = [];
    for await (const { record } of store.list({ operation })) found.push(record.operation);
    expect(found).toEqual([operation]);
  });

  it('I11 a first run is two statements, a replay and a refused claim one each', async () => {
    const pool = stage.database.pool(1);
    const store = await stage.fresh({ pool });
    const client = await pool.connect();
    const sent: string[] = [];
    const query = client.query.bind(client) as (...asked: unknown[]) => unknown;
    (client as { query: unknown }).query = (...asked: unknown[]) => {
      sent.push(String(asked[0]));
      return query(...asked);
    };
    client.release();
    const options = { store, operation: 'o', key: 'k' };
    await runOnce(options, () => 'done');
    expect(sent).toHaveLength(2);
    await runOnce(options, () => 'again');
    expect(sent).toHaveLength(3);
    const claimed = await runOnce({ ...options, key: 'held' }, async () => {
      const before = sent.length;
      await expect(runOnce({ ...options, key: 'held' }, () => 'twice')).rejects.toMatchObject({ code: 'IN_FLIGHT' });
      return sent.length - before;
    });
    expect(claimed).toBe(1);
  });

  it('a replay writes nothing: no dead row, and not even a transaction id', async () => {
    const store = await stage.fresh();
    const options = { store, operation: 'o', key: 'k' };
    await runOnce(options, () => 'done');
    const nextId = async (): Promise<string> => (await stage.pool.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next')).rows[0].next;
    const before = await nextId();
    for (let call = 0; call < 50; call++) expect(await runOnce(options, () => 'again')).toBe('done');
    const { record } = (await first(store.list({}))) ?? {};
    expect(record?.state).toBe('completed');
    expect(await nextId()).toBe(before);
  });

  it('completions stay on their page: no index is written for them', async () => {
    const pool = stage.database.pool(1);
    const store = await stage.fresh({ pool });
    for (let key = 0; key < 200; key++) await runOnce({ store, operation: 'o', key }, () => ({ text: 'a value of the usual size '.repeat(4) }));
    // A connection tells its numbers when it ends.
    await pool.end();
    const stats = 'SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS on_page FROM pg_stat_user_tables WHERE relname = $1';
    await expect
      .poll(async () => (await stage.pool.query(stats, ['rerunsafe'])).rows[0], { timeout: 10_000 })
      .toMatchObject({ updated: 200, on_page: expect.toSatisfy((count: number) => count >= 190) });
  });

  it('are stamped and judged by the clock of the server, in the statement, whatever the caller thinks', async () => {
    const store = await stage.fresh();
    const id = freshId();
    await put(store, id, sample({ token: 5 }));
    const standing = await store.read(id);
    const { rows } = await stage.pool.query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now');
    expect(Math.abs(rows[0].now - (standing?.record.writtenAtMs ?? 0))).toBeLessThan(5_000);
    // I5: a first claim has a token no lower than the time.
    expect(standing?.record.token).toBeGreaterThanOrEqual((standing?.record.writtenAtMs ?? 0) - 1);
    expect(Math.abs(store.clock.nowMs() - rows[0].now)).toBeLessThan(5_000);
  });

  it('bring numbers, whatever the types of the driver are set to', async () => {
    const types = { getTypeParser: () => (text: string) => (/^-?\d+$/.test(text) ? BigInt(text) : text) };
    const store = await stage.fresh({}, { types: types as never });
    const id = freshId();
    const record = sample({ slot: 1_700_000_000_000 });
    const { token } = await put(store, id, record);
    expect((await store.read(id))?.record).toMatchObject({ ...record, token });
  });
});

async function first<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item;
  return undefined;
}
