/**
 * Where the time of a call goes: `node bench/cpu/profile.ts first`, or `replay`. Self time of each function, of all there is.
 *
 * @module
 */
import { Session } from 'node:inspector/promises';
import { basename, dirname } from 'node:path';
import { memoryStore, runOnce } from 'rerunsafe';

const CALLS = 60_000;
const SHOWN = 40;
const isFirst = process.argv[2] !== 'replay';
const store = memoryStore();
const call = (key: string): Promise<unknown> => runOnce({ store, operation: 'bench/cpu', key }, () => ({ ok: true }));

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: 100 });
for (let n = 0; n < CALLS / 3; n++) await call(isFirst ? `warm ${n}` : 'one');
await session.post('Profiler.start');
for (let n = 0; n < CALLS; n++) await call(isFirst ? `first ${n}` : 'one');
const { profile } = await session.post('Profiler.stop');

const names = new Map(
  profile.nodes.map(({ id, callFrame: { functionName, url } }) => [
    id,
    `${functionName || '(anonymous)'} ${basename(dirname(url))}/${basename(url)}`,
  ]),
);
const took = new Map<string, number>();
for (const [n, id] of (profile.samples ?? []).entries()) {
  const name = names.get(id) ?? '?';
  took.set(name, (took.get(name) ?? 0) + (profile.timeDeltas?.[n] ?? 0));
}
const all = [...took.values()].reduce((sum, us) => sum + us, 0);
console.log(`${isFirst ? 'first run' : 'replay'}: ${(all / CALLS).toFixed(1)} µs a call`);
for (const [name, us] of [...took].sort(([, a], [, b]) => b - a).slice(0, SHOWN))
  console.log(`${(us / CALLS).toFixed(2).padStart(6)} µs ${((us / all) * 100).toFixed(1).padStart(5)} %  ${name}`);
