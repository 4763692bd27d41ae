/**
 * What is printed at the end.
 *
 * @module
 */
import { CREW, type Worked } from './crew.ts';
import { DEATHS, type Death } from './deaths.ts';
import type { Ledgers, Verdict } from './verdict.ts';

export interface Told {
  readonly title: string;
  readonly orders: number;
  readonly verdict: Verdict;
  readonly ledgers: Ledgers;
  readonly worked: Worked;
  /** In the order in which they died. */
  readonly deaths: readonly Death[];
  /** Of each order's record. */
  readonly attempts: readonly number[];
  readonly tookMs: number;
}

const COLUMNS = ['', 'calls', 'effects', 'keys with two', 'done', 'done twice', 'not done'];

export function linesOf({ title, orders, verdict, ledgers, worked, deaths, attempts, tookMs }: Told): string[] {
  const { counts, finished, receipts, differing, untrue, ok } = verdict;
  const sum = (of: 'calls' | 'faults' | 'crashes'): number => Object.values(ledgers).reduce((total, ledger) => total + ledger[of], 0);
  const kills = deaths.length + worked.killedFromOutside;
  const doubled = counts.reduce((total, { doneTwice }) => total + doneTwice, 0);
  const places = DEATHS.map((place) => `${deaths.filter((one) => one === place).length} ${place}`);
  return [
    title,
    '',
    row(COLUMNS),
    ...counts.map(({ provider, calls, effects, keysWithTwo, done, doneTwice, notDone }) =>
      row([provider, calls, effects, keysWithTwo, done, doneTwice, notDone]),
    ),
    '',
    line(
      'orders',
      `${finished} of ${orders} finished, in ${attempts.reduce((a, b) => a + b, 0)} attempts, at most ${Math.max(0, ...attempts)} for one`,
    ),
    line('receipts', `${receipts} handed out; orders with different ones: ${differing}; with one that the ledgers do not know: ${untrue}`),
    line(
      'processes',
      `${worked.processes} in ${CREW} seats; ${kills} killed, ${worked.killedFromOutside} of them from outside; ${worked.paused} paused past their leases`,
    ),
    line('killed', `${places.slice(0, 5).join(', ')},`),
    line('', places.slice(5).join(', ')),
    line('providers', `crashed ${sum('crashes')} times; ${sum('faults')} of ${sum('calls')} calls went wrong`),
    line('took', `${(tookMs / 1000).toFixed(1)} s`),
    ...(worked.refused.length > 0 ? [line('refused', worked.refused.join(', '))] : []),
    ...(worked.hasTimedOut ? [line('gave up', 'not all was done in time')] : []),
    '',
    ok ? 'Every order was charged, shipped and mailed once.' : `NOT every order was charged, shipped and mailed once: ${doubled} effects came twice.`,
  ];
}

const row = ([first, ...others]: readonly (string | number)[]): string =>
  `   ${String(first).padEnd(10)}${others.map((cell) => String(cell).padStart(15)).join('')}`.trimEnd();

const line = (name: string, text: string): string => `   ${name.padEnd(11)}${text}`;
