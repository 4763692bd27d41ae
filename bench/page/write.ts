/**
 * Puts what was measured (bench/results.json) into docs/performance.md, between the marks `<!-- bench:name -->` and `<!-- /bench -->`, and draws the main
 * ratios: `node bench/page/write.ts`. The words around it are written by hand.
 *
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMet } from '../print.ts';
import type { Results } from '../run.ts';
import type { Figure, Table } from '../section.ts';
import { picture } from './picture.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/performance.md');
const PICTURE = join(ROOT, 'docs/performance.svg');

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
const tableOf = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(columns), `|${columns.map(() => '---').join('|')}|`, ...rows.map(row)].join('\n');

const block = ({ title, columns, rows, note }: Table): string =>
  [`**${title}**`, '', tableOf(columns, rows), ...(note === undefined ? [] : ['', note])].join('\n');

export const told = ({ value, low, high, unit }: Figure): string => {
  const digits = unit === '×' ? 2 : unit === 'µs' || unit === 'kB' ? 1 : 0;
  const spread = low === undefined || high === undefined ? '' : ` (${low.toFixed(digits)}–${high.toFixed(digits)})`;
  return `${value.toFixed(digits)}${spread}${unit === '×' || unit === 'requests' ? '' : ` ${unit}`}`;
};

/** What a goal was set for. */
const goals = ({ sections }: Results): string => {
  const all = Object.entries(sections).flatMap(([name, { figures }]) => figures.map((figure) => ({ name, figure })));
  const rows = all
    .filter(({ figure }) => figure.goal !== undefined)
    .map(({ name, figure }) => [figure.name, told(figure), `≤ ${figure.goal}`, isMet(figure) ? 'met' : '**missed**', `\`npm run bench -- ${name}\``]);
  return tableOf(['', 'measured', 'goal', '', 'printed by'], rows);
};

export function filled(page: string, results: Results): string {
  return page.replaceAll(/<!-- bench:(\w+) -->[\s\S]*?<!-- \/bench -->/g, (_, name: string) => {
    const { node, cpu, cores } = results.machine;
    const text =
      name === 'goals'
        ? goals(results)
        : name === 'machine'
          ? `Node ${node.slice(1)}, ${cores} cores of “${cpu}”.`
          : (results.sections[name]?.tables ?? []).map(block).join('\n\n');
    if (text === '') throw new Error(`nothing was measured for ${name}: npm run bench -- ${name}`);
    return `<!-- bench:${name} -->\n\n${text}\n\n<!-- /bench -->`;
  });
}

if (process.argv[1] === import.meta.filename) {
  const results = JSON.parse(readFileSync(join(ROOT, 'bench/results.json'), 'utf8')) as Results;
  writeFileSync(PAGE, filled(readFileSync(PAGE, 'utf8'), results));
  writeFileSync(
    PICTURE,
    picture(Object.values(results.sections).flatMap(({ figures }) => figures.filter(({ unit, goal }) => unit === '×' && goal !== undefined))),
  );
}
