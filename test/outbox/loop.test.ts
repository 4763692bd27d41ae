import { describe, expect, it } from 'vitest';
import { RerunSafeError } from '../../src/core/errors.ts';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { memoryStore, storeLeases } from '../../src/index.ts';
import { type RelayLoopOptions, relayLoop } from '../../src/outbox/loop.ts';
import type { Deliver } from '../../src/outbox/options.ts';
import type { RelayResult } from '../../src/outbox/relay.ts';
import { stage } from './stage.ts';

describe('the loop', () => {
  function looping(more: Partial<RelayLoopOptions> = {}) {
    const base = stage();
    const stop = new AbortController();
    const runs: RelayResult[] = [];
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const deliver: Deliver = ({ id }) => void base.told.push(id);
    const { outbox, leases, clock } = base;
    const options = {
      outbox,
      leases,
      deliver,
      everyMs: 500,
      signal: stop.signal,
      onRun: (run: RelayResult) => void runs.push(run),
      onError,
      ...more,
    };
    return { ...base, stop, runs, errors, loop: relayLoop(options, clock) };
  }

  it('I12 goes on until it is told to stop, and leaves nothing behind', async () => {
    const { clock, outbox, told, stop, loop } = looping();
    await clock.advance(1_200);
    outbox.add('late');
    await clock.advance(500);
    expect(told).toEqual(['late']);
    stop.abort();
    await loop;
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I10 tells of failures that may pass, tries again after a pause that grows, and gives up on the others', async () => {
    const { clock, outbox, errors, loop } = looping();
    await clock.settle();
    outbox.fail('enter', new RerunSafeError('STALE_TOKEN', 'a'), new RerunSafeError('LEASE_LOST', 'b'));
    await clock.advance(500);
    expect(errors).toHaveLength(1);
    await clock.advance(1_000);
    expect(errors).toHaveLength(2);
    outbox.fail('enter', new RerunSafeError('STORE_MISCONFIGURED', 'no table'));
    const ended = expect(loop).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    await clock.advance(5_000);
    await ended;
    expect(clock.pendingTimers()).toBe(0);
  });

  it('one that finds somebody else at it looks again', async () => {
    const gone: LeaseProvider = storeLeases(memoryStore());
    const { clock, runs, stop, loop } = looping({
      leases: {
        ...gone,
        name: 'x',
        limits: gone.limits,
        acquire: async () => ({ kind: 'held' }),
        renew: gone.renew.bind(gone),
        release: gone.release.bind(gone),
        read: gone.read.bind(gone),
        break: gone.break.bind(gone),
      },
    });
    await clock.advance(1_100);
    stop.abort();
    await loop;
    expect(runs).toEqual([{ kind: 'held' }, { kind: 'held' }, { kind: 'held' }]);
  });
});
