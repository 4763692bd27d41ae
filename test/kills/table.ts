import type { ClockPlan, ClockShown } from './clocks.ts';
import type { RestartPlan, RestartShown } from './restarts.ts';
import type { Shown } from './scene.ts';

const columns = (store: string, life: string, ...numbers: readonly (string | number)[]): string =>
  [store.padEnd(14), life.padEnd(28), ...numbers.map((number) => String(number).padStart(11))].join('');

export const TITLE = columns('store', 'life', 'points', 'struck', 'not met', 'violations');

export const rowsOf = ({ rows }: Shown): string =>
  rows.map(({ store, life, points, struck, missed, violations }) => columns(store, life, points, struck, missed, violations.length)).join('\n');

export function sumOf({ rows, processes, seconds }: Shown): string {
  const sum = (of: (row: Shown['rows'][number]) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const numbers = [sum(({ points }) => points), sum(({ struck }) => struck), sum(({ missed }) => missed), sum(({ violations }) => violations.length)];
  return `${columns(rows[0]?.store ?? '', 'all', ...numbers)}   ${processes} processes, ${seconds.toFixed(1)} s\n`;
}

const right = (width: number, ...numbers: readonly number[]): string => numbers.map((number) => String(number).padStart(width)).join('');

/** `I6, I10 only`: of leases that were stamped by a clock that is hours off, where a caller stamps them. */
export const CLOCK_TITLE = 'store         clock     the process        struck  violations  I6, I10 only';

export const clockLine = ({ store, victim, warm }: ClockPlan, { rows, violations, late, seconds }: ClockShown): string => {
  const struck = rows.reduce((sum, row) => sum + row.struck, 0);
  const told = store === 'dynamodb' ? (warm ? 'told the time' : 'was not told') : '';
  return `${store.padEnd(14)}${victim.padEnd(10)}${told.padEnd(13)}${right(12, struck, violations.length, late.length)}${seconds.toFixed(1).padStart(9)} s`;
};

export const RESTART_TITLE = 'store                   deaths        runs   calls hit  violations';

export const restartLine = ({ store }: RestartPlan, { runs, deaths, hit, violations, seconds }: RestartShown): string =>
  `${store.padEnd(18)}${right(12, deaths, runs, hit, violations.length)}${seconds.toFixed(1).padStart(9)} s`;
