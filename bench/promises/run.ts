/**
 * Who breaks which promise how often: the same scenarios, with real processes that are killed and stopped, for this package and its peers.
 *
 *     node bench/promises/run.ts [--trials 20] [--only scenario] [--peer name] [--at-once 5] [--json file]
 *
 * `--only` and `--peer` may be given several times. Exit code 1: this package broke a promise that it makes; 2: a server is missing. The effects of the work are witnessed in a file, apart from all stores.
 *
 * @module
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Cell, compare, PEERS, pick, SCENARIOS } from './compare.ts';
import { missing } from './services.ts';
import { seenIn, tablesOf } from './table.ts';

const { values } = parseArgs({
  options: {
    trials: { type: 'string', default: '20' },
    only: { type: 'string', multiple: true },
    peer: { type: 'string', multiple: true },
    'at-once': { type: 'string', default: '5' },
    json: { type: 'string' },
  },
});

const chosen = <V extends { readonly id: string }>(all: readonly V[], names: readonly string[] | undefined, what: string): readonly V[] => {
  if (names === undefined) return all;
  const found = names.map((name) => pick(all, name));
  const unknown = names[found.findIndex((some) => some.length === 0)];
  if (unknown !== undefined) throw new Error(`There is no ${what} "${unknown}": ${all.map(({ id }) => id).join(', ')}`);
  return all.filter((one) => found.some((some) => some.includes(one)));
};

// What was started ends with this process.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => process.exit(code));

const brokenByUs = (cells: readonly Cell[]): string[] =>
  cells.flatMap(({ scenario, peer: id, broken }) => {
    const peer = PEERS.find((one) => one.id === id);
    if (peer?.ours !== true) return [];
    return Object.entries(broken)
      .filter(([check, times]) => times > 0 && peer.notPromised[`${scenario}/${check}`] === undefined)
      .map(([check, times]) => `${id}, ${scenario}/${check} × ${times}`);
  });

async function main(): Promise<void> {
  const scenarios = chosen(SCENARIOS, values.only, 'scenario');
  const kinds = new Set(scenarios.map(({ kind }) => kind));
  const peers = chosen(PEERS, values.peer, 'peer').filter(({ kind }) => kinds.has(kind));
  const [trials, atOnce] = [Number(values.trials), Number(values['at-once'])];
  if (!(trials >= 1 && atOnce >= 1)) throw new Error('--trials and --at-once are whole numbers from 1');
  const lacking = await missing(new Set(peers.map(({ needs }) => needs)));
  if (lacking.length > 0) {
    console.error(`Nothing was compared: there is no ${lacking.join(' and no ')} on this machine.`);
    process.exitCode = 2;
    return;
  }
  const startedMs = performance.now();
  const cells = await compare({ trials, atOnce, scenarios, peers, tell: (line) => console.error(line) });
  const tookS = Math.round((performance.now() - startedMs) / 1_000);
  console.log(`${trials} trials of each, ${atOnce} at once, Node ${process.version}, ${tookS} s\n`);
  console.log(`${tablesOf(cells, scenarios, peers)}\n\nWhat was seen:\n\n${seenIn(cells, peers)}`);
  const own = brokenByUs(cells);
  if (own.length > 0) {
    console.error(`\nBroken by this package: ${own.join('; ')}`);
    process.exitCode = 1;
  }
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ trials, node: process.version, cells }, undefined, 2)}\n`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
