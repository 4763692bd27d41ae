/**
 * What `npm run orders` prints, and docs/orders.md shows of it.
 *
 * @module
 */
import type { Count } from '../../scripts/orders/verdict.ts';
import { withoutFigures } from '../scenarios/output.ts';

/** The block of a page that shows a command, without the command. */
export function printedOn(page: string, command: string): string {
  const blocks = [...page.matchAll(/```console\n\$ (.*)\n\n([\s\S]*?)\n```/g)];
  return blocks.find(([, shown]) => shown === command)?.[2] ?? '';
}

/** Kills by place are few: a figure there may be one digit or two, but all lines and words are the same. */
export const shapeOf = (printed: string): string => withoutFigures(printed).trim();

/** The row of each provider. */
export function countsIn(printed: string): Count[] {
  return [...printed.matchAll(/^ {3}(payments|carrier|mails)((?: +\d+){6})$/gm)].map(([, provider, figures = '']) => {
    const [calls = -1, effects = -1, keysWithTwo = -1, done = -1, doneTwice = -1, notDone = -1] = figures.trim().split(/ +/).map(Number);
    return { provider: provider as Count['provider'], calls, effects, keysWithTwo, done, doneTwice, notDone };
  });
}

export function summaryIn(printed: string) {
  const figure = (before: string, after = ''): number => Number(new RegExp(`${before}(\\d+)${after}`).exec(printed)?.[1] ?? Number.NaN);
  return {
    finished: figure('orders +', ' of'),
    attempts: figure('finished, in ', ' attempts'),
    differing: figure('different ones: '),
    untrue: figure('do not know: '),
    killed: figure('seats; ', ' killed'),
    wrong: figure('times; ', ' of \\d+ calls'),
  };
}
