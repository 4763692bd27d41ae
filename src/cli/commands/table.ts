/**
 * Rows for people (columns that fit their terminal) or for programs (tabs between them, nothing cut off).
 *
 * @module
 */
import type { Screen } from '../output.ts';

export interface Column {
  readonly head: string;
  /** May be cut off, the longest first. */
  readonly gives?: boolean;
  /** Left out of what is for people: long, and of use to programs only. */
  readonly programsOnly?: boolean;
}

/** Harmless, in all of its cells. */
export type TableRow = readonly string[];

const GAP = '  ';
/** Below, nobody can tell one from another. */
const LEAST_WIDTH = 8;

export async function printTable(
  out: Screen,
  columns: readonly Column[],
  rows: readonly TableRow[],
  colour: (cell: string) => string,
): Promise<void> {
  if (out.columns === undefined) {
    for (const row of [columns.map(({ head }) => head), ...rows]) out.print(row.join('\t'));
    return;
  }
  const shown = columns.map((column, n) => ({ ...column, n })).filter(({ programsOnly }) => programsOnly !== true);
  const widths = fitted(
    shown.map(({ head, gives = false, n }) => ({ gives, width: Math.max(widthOf(head), ...rows.map((row) => widthOf(row[n] ?? ''))) })),
    out.columns - GAP.length * (shown.length - 1),
  );
  const { default: Table } = await import('cli-table3');
  const table = new Table({
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    head: shown.map(({ head }) => out.paint('dim', head)),
    colWidths: widths,
  });
  for (const row of rows) table.push(shown.map(({ n }, place) => (place === 0 ? colour(row[n] ?? '') : (row[n] ?? ''))));
  for (const line of table.toString().split('\n')) out.print(line.trimEnd());
}

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: GAP,
};

/** What is not ASCII may take two places: rather too wide than cut off. */
const widthOf = (text: string): number => [...text].reduce((sum, character) => sum + (character > '~' ? 2 : 1), 0);

function fitted(columns: readonly { readonly width: number; readonly gives: boolean }[], room: number): number[] {
  const widths = columns.map(({ width }) => width);
  for (;;) {
    const over = widths.reduce((sum, width) => sum + width, 0) - room;
    const giving = widths.map((width, n) => (columns[n]?.gives && width > LEAST_WIDTH ? width : 0));
    const widest = giving.indexOf(Math.max(...giving));
    if (over <= 0 || giving[widest] === 0) return widths;
    const second = Math.max(LEAST_WIDTH, ...giving.filter((_, n) => n !== widest));
    const width = giving[widest] as number;
    // Down to the next one, then by ones in turn.
    widths[widest] = Math.max(width - over, Math.min(width - 1, second));
  }
}
