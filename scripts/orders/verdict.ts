/**
 * What the ledgers of the providers and the receipts of the callers say about the orders.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import type { Receipt } from '../../functions/orders/fulfil.ts';
import type { Order } from '../../functions/orders/shop.ts';
import type { Worked } from './crew.ts';
import type { Ledger } from './provider.ts';

export type Ledgers = Readonly<Record<'payments' | 'carrier' | 'mails', Ledger>>;

export interface Count {
  readonly provider: keyof Ledgers;
  readonly calls: number;
  readonly effects: number;
  readonly keysWithTwo: number;
  /** Orders, or mails. */
  readonly done: number;
  readonly doneTwice: number;
  readonly notDone: number;
}

export interface Verdict {
  readonly counts: readonly Count[];
  readonly finished: number;
  readonly receipts: number;
  /** Orders whose callers were told different ones. */
  readonly differing: number;
  /** Orders whose receipt names something else than the ledgers. */
  readonly untrue: number;
  readonly ok: boolean;
}

export function judge(
  orders: readonly Order[],
  ledgers: Ledgers,
  { told, refused, hasTimedOut }: Pick<Worked, 'told' | 'refused' | 'hasTimedOut'>,
): Verdict {
  const ids = orders.map(({ id }) => id);
  const counts = [
    count('payments', ledgers.payments, ids),
    count('carrier', ledgers.carrier, ids),
    count(
      'mails',
      ledgers.mails,
      orders.flatMap(({ mails }) => mails.map(({ id }) => id)),
    ),
  ];
  const all = [...told.values()];
  const finished = told.size;
  const differing = all.filter(([first, ...others]) => others.some((other) => !isDeepStrictEqual(other, first))).length;
  const named = { payments: idsOf(ledgers.payments), carrier: idsOf(ledgers.carrier), mails: idsOf(ledgers.mails) };
  const untrue = orders.filter((order) => {
    const receipt = told.get(order.id)?.[0];
    return receipt !== undefined && !isDeepStrictEqual(receipt, ledgered(order, named));
  }).length;
  const isOnce = counts.every(({ keysWithTwo, doneTwice, notDone }) => keysWithTwo + doneTwice + notDone === 0);
  const ok = isOnce && finished === orders.length && differing + untrue === 0 && refused.length === 0 && !hasTimedOut;
  return { counts, finished, receipts: all.flat().length, differing, untrue, ok };
}

function count(provider: keyof Ledgers, { calls, effects }: Ledger, wanted: readonly string[]): Count {
  const keys = tally(effects.map(({ key }) => key));
  const done = tally(effects.map(({ of }) => of));
  return {
    provider,
    calls,
    effects: effects.length,
    keysWithTwo: twice(keys),
    done: done.size,
    doneTwice: twice(done),
    notDone: wanted.filter((of) => !done.has(of)).length,
  };
}

function tally(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

const twice = (counts: ReadonlyMap<string, number>): number => [...counts.values()].filter((times) => times > 1).length;

const idsOf = ({ effects }: Ledger): ReadonlyMap<string, string> => new Map(effects.map(({ of, id }) => [of, id]));

function ledgered({ id, mails }: Order, named: Readonly<Record<keyof Ledgers, ReadonlyMap<string, string>>>): Receipt {
  return {
    charge: named.payments.get(id) ?? '',
    parcel: named.carrier.get(id) ?? '',
    mails: mails.map((mail) => named.mails.get(mail.id) ?? ''),
  };
}
