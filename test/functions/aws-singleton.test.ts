import type { ScheduledEvent, ScheduledHandler } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type ScheduledOptions, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, lambdaContext, scheduledEvent } from '../support/aws-events.ts';

const options = <E = unknown>(more: Partial<ScheduledOptions<E>> = {}): ScheduledOptions<E> => ({
  leases: storeLeases(memoryStore()),
  name: 'reports/nightly',
  ...more,
});
const context = lambdaContext();
const info = vi.spyOn(console, 'info');
const warn = vi.spyOn(console, 'warn');

describe('a scheduled function', () => {
  beforeEach(() => {
    info.mockReset();
    warn.mockReset();
  });

  it('I1 runs once per slot, though the event is delivered twice', async () => {
    let runs = 0;
    const job = singleton(options(), (_event, _context, lease) => {
      runs += 1;
      return lease.fence.id;
    });
    expect(await job(scheduledEvent('2025-01-01T02:00:00Z'), context)).toBe('reports/nightly');
    expect(await job(scheduledEvent('2025-01-01T02:00:00.400Z'), context)).toBeUndefined();
    expect(await job(scheduledEvent('2025-01-02T02:00:00Z'), context)).toBe('reports/nightly');
    expect(await job(scheduledEvent('2025-01-01T02:00:00Z'), context)).toBeUndefined();
    expect(runs).toBe(2);
    expect(info.mock.calls).toEqual([
      ['reports/nightly: skipped, this slot is already done.'],
      ['reports/nightly: skipped, a newer slot is already done (2025-01-02T02:00:00.000Z).'],
    ]);
    expect(warn).not.toHaveBeenCalled();
  });

  it('a slot whose run failed stays open, and the throw goes through untouched', async () => {
    const boom = new Error('boom');
    let runs = 0;
    const job = singleton(options(), () => {
      if (runs++ === 0) throw boom;
      return 'done';
    });
    await expect(job(scheduledEvent(), context)).rejects.toBe(boom);
    expect(await job(scheduledEvent(), context)).toBe('done');
  });

  it('I3 the retry of a run that was killed is not skipped: Lambda would take that for success, and not come again', async () => {
    const inside = gate();
    const leases = storeLeases(memoryStore());
    const skipped: unknown[] = [];
    const killed = singleton(options({ leases }), () => {
      inside.open();
      return new Promise<number>(() => {});
    });
    void killed(scheduledEvent(), context);
    await inside.opened;
    const job = singleton(options({ leases, onSkipped: (why) => skipped.push(why) }), () => 2);
    await expect(job(scheduledEvent(), context)).rejects.toMatchObject({ code: 'LEASE_HELD', retryable: true });
    expect(skipped).toEqual([]);
    // Another event is another matter.
    expect(await job(scheduledEvent(), lambdaContext())).toBeUndefined();
  });

  it('I6 two runs never overlap: the second is skipped, refused or waits, as it was told', async () => {
    const inside = gate();
    const go = gate();
    const leases = storeLeases(memoryStore());
    const skipped: unknown[] = [];
    const job = singleton(options({ leases }), async () => {
      inside.open();
      await go.opened;
      return 1;
    });
    const first = job(scheduledEvent('2025-01-01T02:00:00Z'), context);
    await inside.opened;
    const next = scheduledEvent('2025-01-01T02:05:00Z');
    expect(await singleton(options({ leases, onSkipped: (why) => skipped.push(why) }), () => 2)(next, lambdaContext())).toBeUndefined();
    expect(skipped).toEqual([expect.objectContaining({ kind: 'held', label: `orders ${context.awsRequestId}` })]);
    await expect(singleton(options({ leases, onHeld: 'throw' }), () => 2)(next, lambdaContext())).rejects.toMatchObject({
      code: 'LEASE_HELD',
      retryable: true,
    });
    const waiting = singleton(options({ leases, onHeld: { waitMs: 20_000 } }), () => 3)(next, lambdaContext());
    go.open();
    expect([await first, await waiting]).toEqual([1, 3]);
  });

  it('I5 each holder has a larger token', async () => {
    const job = singleton(options({ slot: false }), (_event, _context, lease) => lease.token);
    const tokens = [await job({}, context), await job({}, context), await job({}, context)] as number[];
    expect(tokens[0]).toBeLessThan(tokens[1] as number);
    expect(tokens[1]).toBeLessThan(tokens[2] as number);
    expect(warn).not.toHaveBeenCalled();
  });

  it('I8 an event of no schedule has no slot, and a warning says what is not promised then', async () => {
    let runs = 0;
    const job = singleton(options(), () => ++runs);
    const ordinary = { ...scheduledEvent(), 'detail-type': 'OrderPaid', source: 'shop' };
    for (const event of [ordinary, ordinary, {}, undefined]) await job(event, context);
    expect(runs).toBe(4);
    expect(warn).toHaveBeenCalledTimes(4);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('only overlap is prevented'));
  });

  it('a slot of one’s own: ISO text, a Date or epoch ms; anything else is refused, and nothing runs', async () => {
    let runs = 0;
    const job = singleton(options<{ at: unknown }>({ slot: (event) => event.at as string }), () => ++runs);
    for (const at of ['2025-01-01T00:00:00Z', new Date('2025-01-01T00:00:00.900Z'), Date.parse('2025-01-01T00:00:00Z')]) await job({ at }, context);
    expect(runs).toBe(1);
    await expect(job({ at: 'soon' }, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(runs).toBe(1);
  });

  it('keeps name and two parameters, fits the type of the platform, and refuses wrong options', () => {
    const job: ScheduledHandler = singleton(options<ScheduledEvent>(), async function nightly() {});
    expect([job.name, job.length]).toEqual(['nightly', 2]);
    const wrong = { ...options(), name: '', onHeld: 'wait', slot: true, retentionMs: 1 } as never;
    expect(() => singleton(wrong, () => {})).toThrow(/name must be.*onHeld must be.*slot must be.*retentionMs is not an option/);
    expect(() => singleton({ ...options(), leaseMs: 99 }, () => {})).toThrow(/leaseMs/);
  });
});
