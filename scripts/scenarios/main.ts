/**
 * Shows the situations of docs/scenarios.md on real stores and emulators, each first without rerunsafe. Exit code 0 only when every expectation held,
 * 1 when one did not, 2 for a scenario that is not there.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { playSilently, Report } from '../support/report.ts';
import { SCENARIOS } from './list.ts';
import { backendsOf, type Part, type Scenario } from './scenario.ts';
import { lazyServers, type Servers } from './servers.ts';
import { onStage } from './stage.ts';

/** A part that hangs must not hang whoever waits for the verdict. */
const LIMIT_MS = 280_000;
/** Parts wait for leases to run out more than they work. */
const AT_ONCE = 10;

const wanted = process.argv.slice(2).map((name) => name.toUpperCase());
const unknown = wanted.filter((name) => name !== '--LIST' && !SCENARIOS.some(({ id }) => id === name));
if (unknown.length > 0) {
  process.stderr.write(`There is no scenario ${unknown.join(', ')}. npm run scenario -- --list names them.\n`);
  process.exit(2);
}
if (wanted.includes('--LIST')) {
  for (const scenario of SCENARIOS) process.stdout.write(`${scenario.id.padEnd(4)}${scenario.title} · ${backendsOf(scenario).join(', ')}\n`);
  process.exit(0);
}

async function show(scenarios: readonly Scenario[], servers: Servers): Promise<boolean> {
  const report = new Report('scenarios');
  const turns = queue(AT_ONCE);
  const play = (part: Part) =>
    turns(async () => {
      underWay.add(part);
      const played = await playSilently((expect) => onStage(servers, root, (stage) => part.play(expect, stage)));
      underWay.delete(part);
      return played;
    });
  // What takes longest begins first; what is printed is in the order of the list.
  const slowFirst = scenarios.flatMap(({ parts }) => parts).toSorted((a, b) => Number(b.slow ?? false) - Number(a.slow ?? false));
  const played = new Map(slowFirst.map((part) => [part, play(part)]));
  for (const { id, title, parts } of scenarios) {
    const all = parts.map(async (part) => ({ title: `${part.on}: ${part.shows}`, played: await (played.get(part) ?? play(part)) }));
    report.parts(`${id}  ${title}`, await Promise.all(all));
  }
  return report.close();
}

/** So many at once, in the order in which they came. */
function queue(atOnce: number): <T>(task: () => Promise<T>) => Promise<T> {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

// Each process that is started is ended with this one.
process.setMaxListeners(200);
const root = await mkdtemp(join(tmpdir(), 'rerunsafe-scenarios-'));
const servers = lazyServers();
const underWay = new Set<Part>();
const stopped = new Promise<number>((resolve) => {
  process.once('SIGINT', () => resolve(130));
  process.once('SIGTERM', () => resolve(143));
  setTimeout(() => {
    const names = [...underWay].map(({ on, shows }) => `${on}: ${shows}`);
    process.stderr.write(`The scenarios did not end within ${LIMIT_MS / 1000} s. Still under way: ${names.join('; ')}\n`);
    resolve(1);
  }, LIMIT_MS).unref();
});

process.stdout.write('What happens when it runs again?\n');
const shown = show(wanted.length === 0 ? SCENARIOS : SCENARIOS.filter(({ id }) => wanted.includes(id)), servers).then(
  (held) => (held ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    return 1;
  },
);
const code = await Promise.race([shown, stopped]);
await servers.stop();
await rm(root, { recursive: true, force: true });
process.exit(code);
