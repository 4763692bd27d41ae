/**
 * Tables as a terminal shows them.
 *
 * @module
 */
import CliTable from 'cli-table3';
import type { Figure, Measured } from './section.ts';

export function printed({ tables, figures }: Measured): string {
  const shown = tables.map(({ title, columns, rows, note }) => {
    const table = new CliTable({ head: [...columns], style: { head: [], border: [] } });
    table.push(...rows.map((row) => [...row]));
    return `\n${title}\n${table.toString()}${note === undefined ? '' : `\n${note}`}`;
  });
  return [...shown, ...figures.filter(({ goal }) => goal !== undefined).map(against)].join('\n');
}

export const isMet = ({ value, goal }: Figure): boolean => goal === undefined || value <= goal;

const against = (figure: Figure): string => {
  const { name, value, unit, goal } = figure;
  return `${isMet(figure) ? 'met   ' : 'missed'} ${name}: ${unit === '×' ? value.toFixed(3) : value} ${unit} (goal: at most ${goal})`;
};
