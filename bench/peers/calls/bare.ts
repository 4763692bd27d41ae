/**
 * What somebody would write by hand: the same rows, a claim that decides by one condition whether what stands there has lapsed (for which the end of the
 * lease is one column more), and nothing for what can go wrong in between.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { Row } from '../../floor/place.ts';
import { BARE, type Peer } from '../peer.ts';

export interface Standing {
  readonly state: string | undefined;
  readonly body: string | undefined;
}

/** On condition of the revision that is given. */
export interface BareWrites {
  /** undefined: written. */
  claim(row: Row, leaseMs: number): Promise<Standing | undefined>;
  end(row: Row, over: string, state: 'completed' | 'released', body: string | undefined): Promise<void>;
}

class InFlight extends Error {}

const LEASE_MS = 60_000;

export const bare = (writes: BareWrites): Peer => ({
  name: BARE,
  async call(key, work, leaseMs = LEASE_MS) {
    const row = { id: `bare ${key}`.padEnd(46, '_'), owner: randomUUID(), revision: randomUUID() };
    const standing = await writes.claim(row, leaseMs);
    if (standing?.state === 'completed') return JSON.parse(standing.body ?? 'null').outcome.value;
    if (standing !== undefined) throw new InFlight();
    const next = { ...row, revision: randomUUID() };
    let value: unknown;
    try {
      value = await work();
    } catch (error) {
      await writes.end(next, row.revision, 'released', undefined);
      throw error;
    }
    await writes.end(next, row.revision, 'completed', JSON.stringify({ outcome: { kind: 'value', value } }));
    return value;
  },
  isInFlight: (error) => error instanceof InFlight,
});
