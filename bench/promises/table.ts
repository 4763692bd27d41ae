/**
 * The table, in Markdown, with what it needs to be fair.
 *
 * @module
 */
import type { Cell } from './compare.ts';
import type { Peer } from './peers.ts';
import type { Scenario } from './scenarios/scenario.ts';

/** One table for each kind; `n/m`: broken n times in m trials. */
export function tablesOf(cells: readonly Cell[], scenarios: readonly Scenario[], peers: readonly Peer[]): string {
  return (['calls', 'locks'] as const)
    .map((kind) =>
      tableOf(
        cells,
        scenarios.filter((scenario) => scenario.kind === kind),
        peers.filter((peer) => peer.kind === kind),
      ),
    )
    .filter((table) => table !== '')
    .join('\n\n');
}

function tableOf(cells: readonly Cell[], scenarios: readonly Scenario[], peers: readonly Peer[]): string {
  if (scenarios.length === 0 || peers.length === 0) return '';
  const notes: string[] = [];
  const noteOf = (text: string): number => (notes.includes(text) ? notes.indexOf(text) : notes.push(text) - 1) + 1;
  const rows = scenarios.flatMap((scenario) => [
    `| **${scenario.title}** | |${peers.map(() => ' |').join('')}`,
    ...scenario.checks.map(({ id, promise, broken }) => {
      const columns = peers.map((peer) => ` ${entryOf(cells, scenario, id, peer, noteOf)} |`);
      return `| ${broken} | ${promise} |${columns.join('')}`;
    }),
  ]);
  const head = [`| broken so often | promise |${peers.map(({ name }) => ` ${name} |`).join('')}`, `|---|---|${peers.map(() => '---|').join('')}`];
  return [...head, ...rows, '', ...notes.map((note, at) => `[${at + 1}] ${note}`)].join('\n');
}

function entryOf(cells: readonly Cell[], scenario: Scenario, check: string, peer: Peer, noteOf: (text: string) => number): string {
  const lack = peer.lacks[scenario.id];
  if (lack !== undefined) return lack;
  const cell = cells.find((one) => one.scenario === scenario.id && one.peer === peer.id);
  if (cell === undefined) return '';
  if (cell.trials === 0) return 'not reached';
  const count = `${cell.broken[check] ?? 0}/${cell.trials}`;
  const says = peer.notPromised[`${scenario.id}/${check}`];
  if (says !== undefined) return `${count}, not promised [${noteOf(says)}]`;
  const remark = peer.remarks?.[`${scenario.id}/${check}`];
  return remark === undefined ? count : `${count} [${noteOf(remark)}]`;
}

/** What happened in each cell, for whoever asks why. */
export const seenIn = (cells: readonly Cell[], peers: readonly Peer[]): string =>
  cells
    .map(({ scenario, peer, seen }) => {
      const what = Object.entries(seen).map(([text, times]) => `${times} × ${text}`);
      return `${scenario} · ${peers.find(({ id }) => id === peer)?.name}: ${what.join(' | ')}`;
    })
    .join('\n');
