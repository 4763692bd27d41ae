import { app } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { singleton } from '../../src/adapters/azure-functions/index.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { memoryStore } from '../../src/index.ts';

const host = installFunctionsCore();
const schedule = '0 0 2 * * *';
const PAST = '2026-03-01T02:00:00.1234567+00:00';

/** As the host sends it: Pascal case. `next` null: the monitor is off. */
const tick = (next: string | null) => ({
  json: JSON.stringify({
    IsPastDue: false,
    Schedule: { AdjustForDST: true },
    ScheduleStatus: next === null ? null : { Last: '2026-02-28T02:00:00+00:00', Next: next, LastUpdated: next },
  }),
});

describe('singleton, through the real @azure/functions library', () => {
  it('runs an occurrence once, also where the host fires it again elsewhere, and logs the skip', async () => {
    const leases = storeLeases(memoryStore());
    const tokens: number[] = [];
    const handler = () =>
      singleton({ leases, name: 'nightly' }, async function nightly(_timer, _context, lease) {
        tokens.push(lease.fence.token);
      });
    expect([handler().name, handler().length]).toEqual(['nightly', 2]);
    app.timer('nightly', { schedule, handler: handler() });
    app.timer('nightly-elsewhere', { schedule, handler: handler() });
    await host.invoke('nightly', tick(PAST));
    const again = await host.invoke('nightly-elsewhere', tick('2026-03-01T03:00:00+01:00'));
    expect(again.logs.map(({ text }) => text)).toEqual(['nightly: skipped, this slot is already done.']);
    await host.invoke('nightly', tick('2026-03-02T02:00:00Z'));
    expect(tokens).toHaveLength(2);
    expect(tokens[1]).toBeGreaterThan(tokens[0] as number);
    const passed = await host.invoke('nightly', tick(PAST));
    expect(passed.logs[0]?.text).toContain('a newer slot');
  });

  it('leaves the occurrence of a failed run open', async () => {
    let calls = 0;
    app.timer('fails', {
      schedule,
      handler: singleton({ leases: storeLeases(memoryStore()), name: 'fails' }, () => {
        calls += 1;
        if (calls === 1) throw new Error('no');
      }),
    });
    await expect(host.invoke('fails', tick(PAST))).rejects.toThrow('no');
    await host.invoke('fails', tick(PAST));
    await host.invoke('fails', tick(PAST));
    expect(calls).toBe(2);
  });

  it('never overlaps: skips, throws or waits as it is told', async () => {
    const leases = storeLeases(memoryStore());
    let open = (): void => {};
    let enter = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const entered = new Promise<void>((resolve) => {
      enter = resolve;
    });
    const ran: string[] = [];
    const register = (name: string, onHeld?: 'throw' | { waitMs: number }) =>
      app.timer(name, {
        schedule,
        handler: singleton({ leases, name: 'job', slot: false, ...(onHeld === undefined ? {} : { onHeld }) }, () => {
          ran.push(name);
          enter();
          return opened;
        }),
      });
    register('first');
    register('skips');
    register('throws', 'throw');
    register('waits', { waitMs: 20_000 });
    const running = host.invoke('first', tick(PAST));
    await entered;
    expect((await host.invoke('skips', tick(PAST))).logs[0]?.text).toContain('somebody else is at it (first ');
    await expect(host.invoke('throws', tick(PAST))).rejects.toMatchObject({ code: 'LEASE_HELD' });
    const waiting = host.invoke('waits', tick(PAST));
    open();
    await Promise.all([running, waiting]);
    expect(ran).toEqual(['first', 'waits']);
  });

  it.each([
    ['the monitor is off, and the schedule names no moments', null, '00:15:00'],
    ['the host does not know yet', '0001-01-01T00:00:00+00:00'],
    ['the moment is still to come (started by hand, or at start-up)', new Date(Date.now() + 3_600_000).toISOString()],
  ])('marks no slot when %s, and says so once', async (why, next, other = schedule) => {
    let calls = 0;
    app.timer(why, {
      schedule: other,
      handler: singleton({ leases: storeLeases(memoryStore()), name: 'no slot' }, () => {
        calls += 1;
      }),
    });
    const first = await host.invoke(why, tick(next));
    const second = await host.invoke(why, tick(next));
    expect(first.logs).toMatchObject([{ level: 'warning', text: expect.stringContaining('only overlap') }]);
    expect([second.logs, calls]).toEqual([[], 2]);
  });

  it('I3 computes the slot from the schedule where the monitor is off: two hosts, one run', async () => {
    const leases = storeLeases(memoryStore());
    let runs = 0;
    const work = () => {
      runs += 1;
    };
    for (const name of ['unmonitored', 'unmonitored-elsewhere']) {
      app.timer(name, { schedule, useMonitor: false, handler: singleton({ leases, name: 'unmonitored' }, work) });
    }
    const first = await host.invoke('unmonitored', tick(null));
    const second = await host.invoke('unmonitored-elsewhere', tick(null));
    expect([first.logs, second.logs.map(({ text }) => text)]).toEqual([[], ['unmonitored: skipped, this slot is already done.']]);
    expect(runs).toBe(1);
  });

  it('takes a slot of its own, or none, and tells of every skip', async () => {
    const leases = storeLeases(memoryStore());
    const skipped: string[] = [];
    let calls = 0;
    const work = () => {
      calls += 1;
    };
    app.timer('own', {
      schedule,
      handler: singleton({ leases, name: 'own', slot: () => '2026-03-01', onSkipped: ({ kind }) => skipped.push(kind) }, work),
    });
    app.timer('none', { schedule, handler: singleton({ leases, name: 'none', slot: false }, work) });
    for (const name of ['own', 'own', 'none', 'none']) await host.invoke(name, tick(PAST));
    expect([calls, skipped]).toEqual([3, ['slot-done']]);
  });
});
