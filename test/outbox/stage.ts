/**
 * A relay on a virtual clock, over a place in this process.
 *
 * @module
 */
import { memoryStore, storeLeases } from '../../src/index.ts';
import type { Deliver, RelayOptions } from '../../src/outbox/options.ts';
import { type RelayResult, relayOutbox } from '../../src/outbox/relay.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { memoryPlace } from './memory-place.ts';

export function stage() {
  const clock = virtualClock();
  const outbox = memoryPlace(() => clock.nowMs());
  const leases = storeLeases(memoryStore({ clock }));
  const told: string[] = [];
  const say: Deliver = ({ id }) => void told.push(id);
  const relay = (more: Partial<RelayOptions> = {}): Promise<RelayResult> => relayOutbox({ outbox, leases, deliver: say, ...more }, clock);
  return { clock, outbox, leases, told, relay };
}

/** A receiver that refuses some of them, so many times. */
export const refusing =
  (told: string[], times: Record<string, number>): Deliver =>
  ({ id }) => {
    const left = times[id] ?? 0;
    times[id] = left - 1;
    if (left > 0) throw new Error(`no ${id}`);
    told.push(id);
  };
