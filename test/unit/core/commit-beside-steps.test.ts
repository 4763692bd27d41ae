import { describe, expect, it } from 'vitest';
import { storeUnavailable, writeUnknown } from '../../../src/core/errors.ts';
import type { WriteResult } from '../../../src/core/ports.ts';
import type { CommitRequest, Run } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { type Bench, ended, operations, written } from './claims.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';

const to =
  (b: Bench) =>
  ({ id, record, version }: CommitRequest): Promise<WriteResult> =>
    version === undefined ? b.store.create(id, record) : b.store.replace(id, record, version);
const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe('a commit beside steps', () => {
  it('I10 a step that ends meanwhile is refused, and told why: each would wait for the other', async () => {
    const b = bench();
    const late = held<number>();
    let refused: unknown;
    const result = await b.run(async (run: Run<string>) => {
      const step = run.step('late', late.work);
      await run.commit('v', async (request) => {
        late.end(1);
        refused = await caught(step);
        return to(b)(request);
      });
      return 'ignored';
    });
    expect(result).toMatchObject({ value: 'v', saved: true });
    expect(refused).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'run.step: the step "late" ends while the run is being committed: do it before the commit.',
    });
  });

  it('once one has failed, steps are kept again, and the lease is renewed', async () => {
    const b = bench({ leaseMs: 3_000 });
    const own = new Error('constraint');
    const running = b.run(async (run: Run<string>) => {
      expect(await caught(run.commit('v', () => Promise.reject(own)))).toBe(own);
      await run.step('after', () => 1);
      await b.clock.advance(5_000);
      run.assertHeld();
      return 'value';
    });
    expect(await inTime(b.clock, running)).toMatchObject({ value: 'value', saved: true });
    expect(written(b)[1]?.steps).toHaveProperty('after');
  });

  it('I4 a step that ends after it writes nothing', async () => {
    const b = bench({ leaseMs: 60_000 });
    const late = held<number>();
    let step: Promise<unknown> | undefined;
    await b.run(async (run: Run<string>) => {
      step = caught(run.step('late', late.work));
      await run.commit('v', to(b));
      late.end(1);
      expect(await step).toMatchObject({ code: 'LEASE_LOST' });
      return 'ignored';
    });
    expect(operations(b)).toEqual(['create', 'replace']);
  });

  it('I4 I8 nor one that ends after a commit of which nobody knows whether it happened', async () => {
    const b = bench({ leaseMs: 60_000 });
    const late = held<number>();
    let leftMs = 50_000;
    const running = b.run(
      async (run: Run<string>) => {
        const step = caught(run.step('late', late.work));
        const commit = run.commit('v', async () => {
          leftMs = 0;
          throw writeUnknown('the transaction', undefined);
        });
        expect(await caught(commit)).toMatchObject({ code: 'WRITE_UNKNOWN' });
        late.end(1);
        expect(await step).toMatchObject({ code: 'LEASE_LOST' });
        return 'other';
      },
      { remainingMs: () => leftMs },
    );
    expect(await ended(b, running)).toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(operations(b)).toEqual(['create', 'read']);
  });

  it('I4 a renewal that came due meanwhile is not sent, and nothing is told as lost', async () => {
    const b = bench({ leaseMs: 3_000 });
    let aborted: boolean | undefined;
    const events = await eventsOf(async () => {
      const running = b.run(async (run: Run<string>) => {
        await run.commit('v', async (request) => {
          await b.clock.advance(1_500);
          return to(b)(request);
        });
        await b.clock.advance(100);
        aborted = run.signal.aborted;
        return 'ignored';
      });
      expect(await inTime(b.clock, running)).toMatchObject({ value: 'v' });
    });
    expect(aborted).toBe(false);
    expect(events).toEqual(['claimed', 'completed']);
    expect(operations(b)).toEqual(['create', 'replace']);
  });

  it('I4 none begins once the work has thrown and is being given up', async () => {
    for (const as of ['release', 'block'] as const) {
      const b = bench({ leaseMs: 60_000, onThrow: () => as });
      b.plan.replace = { 1: { delayMs: 100 } };
      const gate = held<void>();
      let commit: Promise<unknown> | undefined;
      let sends = 0;
      const running = b.run((run: Run<string>) => {
        const send = async (request: CommitRequest): Promise<WriteResult> => {
          sends += 1;
          return to(b)(request);
        };
        commit = caught(gate.work().then(() => run.commit('late', send)));
        throw new Error('failed');
      });
      running.catch(() => {});
      await b.clock.advance(50);
      gate.end();
      expect(await ended(b, running)).toMatchObject({ message: 'failed' });
      expect(await commit).toMatchObject({ code: 'LEASE_LOST' });
      expect(sends).toBe(0);
    }
  });
});

describe('what is committed', () => {
  it('I1 without its value, where that is too large for the transaction', async () => {
    const b = bench();
    const outcomes: unknown[] = [];
    const result = await b.run(async (run: Run<string>) => {
      await run.commit('large', async (request) => {
        outcomes.push(request.record.outcome);
        return outcomes.length === 1 ? { ok: false, reason: 'too-large' } : to(b)(request);
      });
      return 'ignored';
    });
    expect(result).toMatchObject({ value: 'large', saved: true });
    expect(outcomes).toEqual([expect.objectContaining({ kind: 'value' }), { kind: 'not-stored', reason: 'too-large' }]);
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it('I4 nothing is sent after its lease, also where the record still stands as it was', async () => {
    const b = bench({ leaseMs: 1_000 });
    const startMs = b.clock.nowMs();
    const sentMs: number[] = [];
    const running = b.run(async (run: Run<string>) => {
      await run.commit('v', async () => {
        sentMs.push(b.clock.nowMs() - startMs);
        throw writeUnknown('the transaction', undefined);
      });
      return 'ignored';
    });
    expect(await ended(b, running)).toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(sentMs.length).toBeGreaterThan(1);
    expect(Math.max(...sentMs)).toBeLessThanOrEqual(950);
    expect(operations(b)).toEqual(['create', 'read']);
  });
});

describe('a large value that is committed', () => {
  const large = (): Bench =>
    bench({ leaseMs: 1_000, retentionMs: { completed: 500_000, error: 40_000 } }, { inlineBytes: 2_000, maxRecordBytes: 4_000 });
  const value = incompressible(6_000);

  it('its parts are kept as long as the record is', async () => {
    const b = large();
    const kept: unknown[] = [];
    const store = {
      ...b.store,
      putPart: (...[id, name, bytes, options]: Parameters<NonNullable<typeof b.store.putPart>>) => {
        kept.push(options.keepMs);
        return b.store.putPart?.(id, name, bytes, options) as Promise<void>;
      },
    };
    await b.run(
      async (run: Run<string>) => {
        await run.commit(value as never, to(b));
        return 'ignored';
      },
      { store } as never,
    );
    expect(new Set(kept)).toEqual(new Set([501_000]));
    expect(await b.run(() => 'again')).toMatchObject({ value, replayed: true });
  });

  it.each([
    ['the store is away', storeUnavailable('put a part', undefined), expect.objectContaining({ code: 'STORE_UNAVAILABLE' })],
    ['there is a bug', new TypeError('bug'), expect.objectContaining({ name: 'TypeError', message: 'bug' })],
  ])('I1 where %s, so that they cannot be put, nothing is written, it is told, and the attempt goes on', async (_, failure, expected) => {
    const b = large();
    const store = { ...b.store, putPart: () => Promise.reject(failure) };
    let sends = 0;
    const running = b.run(
      async (run: Run<string>) => {
        const send = async (request: CommitRequest): Promise<WriteResult> => {
          sends += 1;
          return to(b)(request);
        };
        expect(await caught(run.commit(value as never, send))).toEqual(expected);
        expect(sends).toBe(0);
        await run.commit('small', send);
        return 'ignored';
      },
      { store } as never,
    );
    expect(await inTime(b.clock, running)).toMatchObject({ value: 'small', saved: true });
  });

  it('I3 where the record has vanished with its parts, and they cannot be put again, it is not said to be saved', async () => {
    const b = large();
    const running = b.run(async () => {
      for await (const one of b.store.list({})) await b.store.delete(one.id, one.version);
      b.plan.putPart = (n) => (n > 2 ? 'unavailable' : undefined);
      return value as never;
    });
    expect(await inTime(b.clock, running)).toMatchObject({ value, saved: false });
    const rows = [];
    for await (const one of b.store.list({})) rows.push(one);
    expect(rows).toEqual([]);
  });
});
