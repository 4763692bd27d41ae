import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { isRerunSafeError } from '../../src/index.ts';
import { type PoolClientLike, type PoolLike, runInTransaction } from '../../src/stores/postgres/index.ts';
import { isSerializationFailure } from '../../src/stores/postgres/map-error.ts';
import { useStage } from '../commit/postgres-stage.ts';
import { byLength } from '../support/long.ts';

const CRASHES = byLength(10, 12, 60);
const CALLERS = 12;
const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const;

/** A commit waits for 3 ms between its record in the log and the disk: that is where the crash is to fall. */
const stage = useStage({ durable: true, settings: { synchronous_commit: 'on', commit_delay: 3_000, commit_siblings: 0 } });

interface Tally {
  /** By key, what a caller was told. */
  readonly told: Map<string, Set<string>>;
  runs: number;
  unavailable: number;
  unknown: number;
  /** COMMITs that were sent, and not answered. */
  lost: number;
}

describe('runInTransaction: the server goes down in the middle of commits', () => {
  it(`I1 I2 I3 I8 ${CRASHES} immediate stops under ${CALLERS} callers: rows and records agree, and all that was answered stands`, async () => {
    const tally: Tally = { told: new Map(), runs: 0, unavailable: 0, unknown: 0, lost: 0 };
    const pool = watched(stage.poolOf({ max: CALLERS, connectionTimeoutMillis: 5_000 }), tally);
    const over = { now: false };
    const callers = Array.from({ length: CALLERS }, (_, caller) => call(pool, caller, over, tally));
    const startedAt = performance.now();
    for (let crash = 0; crash < CRASHES; crash++) {
      const before = tally.told.size;
      while (tally.told.size < before + CALLERS) await sleep(10);
      await sleep(Math.random() * 60);
      await stage.server.crash();
      await stage.server.restart();
    }
    await sleep(200);
    over.now = true;
    await Promise.all(callers);
    const { rows } = await stage.pool.query(
      `SELECT coalesce(o.key, r.label) AS key, r.state, r.body::json -> 'outcome' -> 'value' ->> 'json' AS kept, array_agg(o.value) AS rows
       FROM (SELECT * FROM orders) AS o FULL JOIN rerunsafe AS r ON r.label = o.key GROUP BY 1, 2, 3`,
    );
    for (const { key, state, kept, rows: written } of rows) {
      expect([key, state, written]).toEqual([key, 'completed', [kept]]);
      expect([...(tally.told.get(key) ?? [])]).toEqual([kept]);
    }
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(tally.told.keys()));
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    console.log(
      `${CRASHES} crashes in ${seconds} s: ${tally.told.size} keys, each asked for by two callers; the work ran ${tally.runs} times; ${tally.lost} COMMITs had no answer; ${tally.unavailable} calls were told STORE_UNAVAILABLE, ${tally.unknown} WRITE_UNKNOWN, and called again`,
    );
    expect(tally.lost).toBeGreaterThan(CRASHES / 2);
  }, 300_000);
});

function watched(pool: pg.Pool, tally: Tally): PoolLike {
  return {
    query: (text, values) => pool.query(text, values),
    async connect() {
      const client = await pool.connect();
      const query: PoolClientLike['query'] = async (text, values) => {
        try {
          return await client.query(text, values);
        } catch (error) {
          if (text === 'COMMIT' && !isSerializationFailure(error)) tally.lost += 1;
          throw error;
        }
      };
      return Object.assign(Object.create(client) as PoolClientLike, { query });
    },
  };
}

/** Two callers have the same keys; each goes on to the next when it has an answer. */
async function call(pool: PoolLike, caller: number, over: { now: boolean }, tally: Tally): Promise<void> {
  for (let nth = 0; !over.now; nth++) {
    const key = `key-${Math.floor(caller / 2)}-${nth}`;
    const isolation = ISOLATIONS[nth % ISOLATIONS.length] ?? 'serializable';
    for (let answered = false; !answered; ) {
      try {
        const value = await runInTransaction({ pool, operation: 'orders/take', key, isolation, maxTries: 50 }, async (tx) => {
          const mine = `${key} run ${tally.runs++}`;
          await tx.query('INSERT INTO orders (key, value) VALUES ($1, $2)', [key, mine]);
          return mine;
        });
        tally.told.set(key, (tally.told.get(key) ?? new Set()).add(value));
        answered = true;
      } catch (error) {
        if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) tally.unavailable += 1;
        else if (isRerunSafeError(error, 'WRITE_UNKNOWN')) tally.unknown += 1;
        // What PostgreSQL says to the work's own statement, when it goes down.
        else if (!/terminat|shutting down|ECONN|Connection|server/i.test(String(error))) throw error;
        await sleep(50);
      }
    }
  }
}
