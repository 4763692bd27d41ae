import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type LeaseEvent, type RunEvent, sinceSlot, tellLease, tellRun } from '../../../src/core/events.ts';
import { runEvents } from './run-events.ts';
import { leaseEvents } from './scripted-leases.ts';

const RUN: RunEvent = { event: 'completed', operation: 'events/heard', id: 'r1_x', store: 'memory' };
const LEASE: LeaseEvent = { event: 'acquired', name: 'job', provider: 'scripted' };

describe('what happened', () => {
  it('is told on a channel of its own, as it is, to whoever listens at that moment', () => {
    const [runs, leases] = [runEvents(), leaseEvents()];
    tellRun(RUN);
    tellLease(LEASE);
    runs.stop();
    leases.stop();
    tellRun(RUN);
    tellLease(LEASE);
    expect([runs.events, leases.events]).toEqual([[RUN], [LEASE]]);
    expect([runs.events[0] === RUN, leases.events[0] === LEASE]).toEqual([true, true]);
  });

  it('a value that is not kept is warned about, whether or not anybody listens', async () => {
    const operation = `events/${randomUUID()}`;
    const warnings: string[] = [];
    const listener = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', listener);
    tellRun(RUN);
    tellRun({ ...RUN, operation, notKept: 'too-large' });
    await new Promise(setImmediate);
    process.off('warning', listener);
    expect(warnings.filter((message) => message.startsWith('events/'))).toEqual([
      expect.stringContaining(`${operation}: the work was done, but its value is not kept`),
    ]);
  });

  it('the age of the last success is never less than nothing, and not told where there was none', () => {
    expect(sinceSlot(undefined, 5)).toStrictEqual({});
    expect(sinceSlot(0, 5)).toStrictEqual({ lastSuccessAgeMs: 5 });
    expect(sinceSlot(9, 5)).toStrictEqual({ lastSuccessAgeMs: 0 });
  });
});
