import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LeaseEvent } from '../../../src/core/events.ts';
import type { Acquired, AcquireRequest, CallOptions, LeaseProvider } from '../../../src/core/ports.ts';
import { type VirtualClock, virtualClock } from '../../../src/testing/index.ts';

type Released = Parameters<LeaseProvider['release']>[1];

/** A provider that answers what the test says, and keeps what it was asked. */
export interface Script {
  acquire?: (n: number, request: AcquireRequest, options?: CallOptions) => Acquired | Promise<Acquired>;
  renew?: (n: number) => 'renewed' | 'lost' | Promise<'renewed' | 'lost'>;
  release?: (n: number) => 'released' | 'lost' | Promise<'released' | 'lost'>;
}

export function scripted(script: Script = {}) {
  const clock: VirtualClock = virtualClock();
  const asked = { acquire: [] as AcquireRequest[], renew: [] as unknown[], release: [] as Released[] };
  const atMs = { acquire: [] as number[], renew: [] as number[], release: [] as number[] };
  const startMs = clock.nowMs();
  const note = <K extends keyof typeof asked>(kind: K, request: (typeof asked)[K][number]): number => {
    atMs[kind].push(clock.nowMs() - startMs);
    return (asked[kind] as unknown[]).push(request);
  };
  const leases: LeaseProvider = {
    name: 'scripted',
    limits: { minLeaseMs: 100, maxLeaseMs: 100_000 },
    acquire: async (_, request, options) => {
      const n = note('acquire', request);
      return script.acquire?.(n, request, options) ?? { kind: 'acquired', token: 7 };
    },
    renew: async (_, holder) => {
      const n = note('renew', holder);
      return script.renew?.(n) ?? 'renewed';
    },
    release: async (_, holder) => {
      const n = note('release', holder);
      return script.release?.(n) ?? 'released';
    },
    read: async () => undefined,
    break: async () => {},
  };
  return { clock, script, leases, asked, atMs };
}

export function leaseEvents(): { readonly events: readonly LeaseEvent[]; stop(): void } {
  const events: LeaseEvent[] = [];
  const listener = (message: unknown): void => void events.push(message as LeaseEvent);
  subscribe('rerunsafe:lease', listener);
  return { events, stop: () => void unsubscribe('rerunsafe:lease', listener) };
}
