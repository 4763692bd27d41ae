import { storeUnavailable } from '../../src/core/errors.ts';
import type { Acquired, LeaseProvider } from '../../src/core/ports.ts';

interface Row {
  owner: string | undefined;
  label: string | undefined;
  token: number;
  fromMs: number;
  untilMs: number;
  /** Nobody gets it before, although it was released. */
  heldBackUntilMs: number;
  lastSlot: number | undefined;
}

/** What `plainLeases` can be told to get wrong. */
export type Mistake =
  | 'forgets the token on release'
  | 'anyone may renew'
  | 'anyone may release'
  | 'the same owner is told held'
  | 'the same owner gets a new token'
  | 'a slot is done as soon as it is taken'
  | 'the mark of a slot goes back'
  | 'a done slot keeps the lease'
  | 'slot 0 is no slot'
  | 'the minimum hold is ignored'
  | 'breaking leaves the token'
  | 'a late renewal is allowed'
  | 'a released lease may be renewed'
  | 'the minimum hold is not told'
  | 'leases never run out'
  | 'leases run out early'
  | 'the length of who asks counts'
  | 'names are cut'
  | 'names are folded'
  | 'looks first and takes later'
  | 'held is thrown'
  | 'a signal is not looked at';

/** The plainest lease provider that is right, without a store beneath it: a yardstick for the suite, and raw material for mistakes. */
export function plainLeases(nowMs: () => number, mistake?: Mistake): LeaseProvider {
  const rows = new Map<string, Row>();
  const is = (named: Mistake): boolean => mistake === named;
  const keyOf = (name: string): string => (is('names are cut') ? name.slice(0, 255) : is('names are folded') ? name.toLowerCase() : name);
  const isHeld = (row: Row): boolean =>
    row.owner !== undefined && (is('leases never run out') || nowMs() < row.untilMs - (is('leases run out early') ? 20_000 : 0));
  const isOwn = (row: Row, holder: { owner: string; token: number }): boolean => row.owner === holder.owner && row.token === holder.token;
  const rowOf = (name: string): Row | undefined => rows.get(keyOf(name));

  return {
    name: 'plain',
    limits: { minLeaseMs: 1, maxLeaseMs: 3_600_000 },
    async acquire(name, { owner, leaseMs, label, slot }, options): Promise<Acquired> {
      await Promise.resolve();
      if (options?.signal?.aborted === true && !is('a signal is not looked at')) {
        throw storeUnavailable('aborted before it was sent', options.signal.reason);
      }
      const row = rowOf(name) ?? { owner: undefined, label: undefined, token: 0, fromMs: 0, untilMs: 0, heldBackUntilMs: 0, lastSlot: undefined };
      const holds = isHeld(row) && !(is('the length of who asks counts') && nowMs() >= row.fromMs + leaseMs);
      if (is('looks first and takes later')) await Promise.resolve();
      if (holds && row.owner === owner && !is('the same owner is told held')) {
        if (is('the same owner gets a new token')) row.token += 1;
        return { kind: 'acquired', token: row.token };
      }
      if (holds || (nowMs() < row.heldBackUntilMs && !is('the minimum hold is ignored'))) {
        if (is('held is thrown')) throw new Error('held');
        return { kind: 'held', retryAfterMs: Math.max(row.untilMs, row.heldBackUntilMs) - nowMs() };
      }
      const asked = is('slot 0 is no slot') && slot === 0 ? undefined : slot;
      if (asked !== undefined && row.lastSlot !== undefined && asked <= row.lastSlot) {
        if (is('a done slot keeps the lease')) rows.set(keyOf(name), { ...row, owner, untilMs: nowMs() + leaseMs });
        return asked === row.lastSlot ? { kind: 'slot-done' } : { kind: 'slot-passed', lastSlot: row.lastSlot };
      }
      const lastSlot = is('a slot is done as soon as it is taken') ? (slot ?? row.lastSlot) : row.lastSlot;
      rows.set(keyOf(name), { owner, label, token: row.token + 1, fromMs: nowMs(), untilMs: nowMs() + leaseMs, heldBackUntilMs: 0, lastSlot });
      return { kind: 'acquired', token: row.token + 1, ...(row.lastSlot === undefined ? {} : { lastSlot: row.lastSlot }) };
    },
    async renew(name, { leaseMs, ...holder }) {
      const row = rowOf(name);
      if (row === undefined) return 'lost';
      const mayRenew = is('anyone may renew') || isOwn(row, holder) || (is('a released lease may be renewed') && row.token === holder.token);
      if (!mayRenew || (!isHeld(row) && !is('a late renewal is allowed') && !is('a released lease may be renewed'))) return 'lost';
      row.owner = holder.owner;
      row.untilMs = nowMs() + leaseMs;
      return 'renewed';
    },
    async release(name, { slotDone, holdMs = 0, ...holder }) {
      const row = rowOf(name);
      if (row === undefined || !(isOwn(row, holder) || is('anyone may release'))) return 'lost';
      row.owner = undefined;
      row.heldBackUntilMs = nowMs() + holdMs;
      if (slotDone !== undefined) row.lastSlot = is('the mark of a slot goes back') ? slotDone : Math.max(slotDone, row.lastSlot ?? slotDone);
      if (is('forgets the token on release')) row.token = 0;
      return 'released';
    },
    async read(name) {
      const row = rowOf(name);
      if (row === undefined) return undefined;
      const held = isHeld(row) || (nowMs() < row.heldBackUntilMs && !is('the minimum hold is not told'));
      return { held, token: row.token, ...(row.lastSlot === undefined ? {} : { lastSlot: row.lastSlot }) };
    },
    async break(name) {
      const row = rowOf(name);
      if (row === undefined) return;
      row.owner = undefined;
      if (!is('breaking leaves the token')) row.token += 1;
    },
  };
}
