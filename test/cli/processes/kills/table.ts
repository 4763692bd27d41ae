/**
 * What came of all kills, as a table in Markdown.
 *
 * @module
 */
import type { Observed } from './judge.ts';
import { courseOf, MOMENTS, type Plan, type Who } from './plan.ts';

export interface Result {
  readonly plan: Plan;
  readonly observed: Observed;
  readonly complaints: readonly string[];
}

const WHO: readonly Who[] = ['wrapper', 'both', 'gate', 'command', 'watcher', 'watcher, then wrapper', 'nobody'];
const HEAD = ['mode', 'killed', 'at', 'kills', 'exit code', 'status then', 'status after the lease', 'next run, block', 'next run, retry', 'wrong'];

export function table(results: readonly Result[]): string {
  const rows = new Map<string, Result[]>();
  for (const result of results) rows.set(rowOf(result.plan), [...(rows.get(rowOf(result.plan)) ?? []), result]);
  const sorted = [...rows.values()].sort(([a], [b]) => rank(a) - rank(b));
  const lines = [HEAD, HEAD.map(() => '---'), ...sorted.map(line)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const rowOf = ({ mode, who, moment, code, isMissing }: Plan): string => JSON.stringify([mode, who, moment, code, isMissing]);

function rank(result: Result | undefined): number {
  if (result === undefined) return 0;
  const { mode, who, moment, code, isMissing } = result.plan;
  const places = [['once', 'slot', 'lock'].indexOf(mode), WHO.indexOf(who), MOMENTS.indexOf(moment), code, Number(isMissing)];
  return places.reduce((sum, place) => sum * 16 + place, 0);
}

function line(results: readonly Result[]): string[] {
  const [{ plan }] = results as [Result];
  const { mode, who, moment, code, isMissing } = plan;
  const how = `${code === 0 ? '' : ` (command: ${code})`}${isMissing ? ' (--creates not there)' : ''}`;
  const next = (onUnknown: Plan['onUnknown']): string =>
    counted(results.filter((one) => one.plan.onUnknown === onUnknown && (mode === 'once' || onUnknown === 'block')).map(nextOf));
  return [
    mode,
    who,
    `${moment}${how}`,
    String(results.length),
    counted(results.map(({ observed: { first } }) => (first === undefined ? 'killed' : String(first)))),
    counted(results.map(({ observed: { now } }) => (now.state === courseOf(plan).now ? now.state : `${now.state} (asked late)`))),
    counted(results.flatMap(({ observed: { later } }) => later?.state ?? [])),
    next('block'),
    next('retry'),
    String(results.filter(({ complaints }) => complaints.length > 0).length),
  ];
}

function nextOf({ observed: { next, seen } }: Result): string {
  return `${next.code}, ${next.ran ? `ran${seen.at(-1)?.attempt === 0 ? '' : ` as attempt ${seen.at(-1)?.attempt}`}` : 'not run'}`;
}

/** `done ×3, lapsed`. */
function counted(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, times]) => (times === 1 ? value : `${value} ×${times}`)).join('; ');
}
