/**
 * S12: the functions of many instances, each with a pool of its own.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { isRerunSafeError, runOnce } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { serve } from '../demo/calls.ts';
import { placeGiven, poolAt } from './place.ts';

interface Load {
  readonly instances: number;
  readonly connections: number;
  readonly functions: number;
  readonly keys: number;
}

const place = placeGiven('postgres');

serve({
  /** Each function with a connection of its own, as it is often written. */
  async each({ functions }: Load): Promise<{ refused: number; says: string }> {
    const calls = Array.from({ length: functions }, async () => {
      const client = new Client({ connectionString: place.url });
      // A server that turns a connection away says so here once more.
      client.on('error', () => {});
      await client.connect();
      await pause(300);
      await client.end();
    });
    const failed = (await Promise.allSettled(calls)).filter((call) => call.status === 'rejected');
    return { refused: failed.length, says: String(failed[0]?.reason?.message) };
  },

  async guarded({ instances, connections, functions, keys }: Load): Promise<{ ran: number; done: number; slowestMs: number }> {
    const pools = await Promise.all(Array.from({ length: instances }, () => poolAt(place, connections)));
    const stores = pools.map((pool) => postgresStore({ pool, requestTimeoutMs: 60_000 }));
    let ran = 0;
    let slowestMs = 0;
    const call = async (nth: number): Promise<string> => {
      const store = stores[nth % instances];
      if (store === undefined) throw new Error('no store');
      const startedMs = performance.now();
      const value = await runOnce({ store, operation: 'orders/take', key: nth % keys, onInFlight: { waitMs: 60_000 } }, async () => {
        ran += 1;
        await pause(5);
        return `order ${nth % keys}`;
      });
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      return value;
    };
    const values = await Promise.all(Array.from({ length: functions }, (_, nth) => call(nth)));
    await Promise.all(pools.map((pool) => pool.end()));
    return { ran, done: values.filter((value, nth) => value === `order ${nth % keys}`).length, slowestMs: Math.round(slowestMs) };
  },

  async once({ key }: { key: string }): Promise<{ code: string; retryable?: boolean; says?: string }> {
    const pool = await poolAt(place, 1);
    try {
      return { code: await runOnce({ store: postgresStore({ pool }), operation: 'orders/take', key }, () => 'done') };
    } catch (error) {
      if (!isRerunSafeError(error)) throw error;
      return { code: error.code, retryable: error.retryable, says: error.message };
    } finally {
      await pool.end();
    }
  },
});
