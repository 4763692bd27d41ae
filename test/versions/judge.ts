/**
 * What callers of several versions tell of shared keys, and whether it keeps the promises. Pure.
 *
 * @module
 */
import type { Version } from './engines.ts';

/** In the order in which they were told. */
export type Line = { readonly version: Version; readonly key: string } & (
  | { readonly told: 'started'; readonly attempt: number; readonly token: number }
  /** A step whose work was begun; and one that was awaited to its end. */
  | { readonly told: 'charging'; readonly token: number; readonly id: string }
  | { readonly told: 'charged'; readonly token: number; readonly id: string }
  | { readonly told: 'got'; readonly id: string; readonly charge: string; readonly token: number; readonly replayed: boolean }
  | { readonly told: 'refused'; readonly code: string }
  | { readonly told: 'leased'; readonly token: number }
);

type Of<T extends Line['told']> = Extract<Line, { readonly told: T }>;

/** What callers may be told; and what the work itself has thrown. */
const USUAL = /^(LEASE_LOST|STALE_TOKEN|WRITE_UNKNOWN|STORE_UNAVAILABLE|NotDoneError: .*|Error: lapse)$/;

/** The promises that were broken; none is the answer that is hoped for. */
export function broken(lines: readonly Line[]): string[] {
  const keys = [...new Set(lines.map(({ key }) => key))];
  return keys.flatMap((key) => brokenOf(lines.filter((line) => line.key === key)).map((what) => `${key}: ${what}`));
}

const all = <T extends Line['told']>(lines: readonly Line[], told: T): Of<T>[] => lines.filter((line): line is Of<T> => line.told === told);

function brokenOf(lines: readonly Line[]): string[] {
  const odd = all(lines, 'refused').filter(({ code }) => !USUAL.test(code));
  const found = [...new Set(odd.map(({ version, code }) => `${version} was told ${code}`))];
  const got = all(lines, 'got');
  const [first] = got;
  if (got.some(({ id, charge }) => id !== first?.id || charge !== first.charge)) found.push('I1, I2 callers got different outcomes');
  const started = all(lines, 'started').sort((a, b) => a.attempt - b.attempt);
  for (const [n, { attempt, token, version }] of started.entries()) {
    const before = started[n - 1];
    if (before === undefined) continue;
    if (attempt === before.attempt) found.push(`attempt ${attempt} was made twice, by ${before.version} and ${version}`);
    else if (token <= before.token)
      found.push(`I5 attempt ${attempt} of ${version} has token ${token}, not above ${before.token} of ${before.version}`);
  }
  // Of a lower token: one that was overtaken, and told of its start late.
  const after = first === undefined ? [] : all(lines.slice(lines.indexOf(first)), 'started').filter(({ token }) => token > first.token);
  for (const { version } of after) found.push(`I3 ${version} ran the work after somebody had its outcome`);
  const charged = all(lines, 'charged').find((line) => all(lines, 'charging').some(({ token, id }) => token > line.token && id !== line.id));
  if (charged !== undefined) found.push(`a step that ${charged.version} had kept was begun again by a later attempt`);
  const leased = all(lines, 'leased').map(({ token }) => token);
  if (new Set(leased).size < leased.length) found.push('I5 two holders of a lease have one token');
  return found;
}

/** I4: by name, in the order of their commits. */
export function staleWrites(writes: readonly { readonly name: string; readonly token: number }[]): string[] {
  const highest = new Map<string, number>();
  return writes.flatMap(({ name, token }) => {
    const before = highest.get(name) ?? 0;
    highest.set(name, Math.max(before, token));
    return token < before ? [`I4 ${name}: a write of token ${token} was accepted after one of ${before}`] : [];
  });
}

export interface Reached {
  /** Attempts that followed one of the other kind. */
  readonly todayAfterOld: number;
  readonly oldAfterToday: number;
  /** Outcomes of the other kind that were handed out. */
  readonly todayReplaysOld: number;
  readonly oldReplaysToday: number;
  /** Steps kept by one, found by the other. */
  readonly stepsHandedOn: number;
  readonly leasesHandedOn: number;
  /** Owners who came too late. */
  readonly overtaken: number;
}

/** That it happened at all. */
export function reached(lines: readonly Line[]): Reached {
  const pairs = [...new Set(lines.map(({ key }) => key))].flatMap((key) => {
    const started = all(lines, 'started')
      .filter((line) => line.key === key)
      .sort((a, b) => a.attempt - b.attempt);
    return started.slice(1).map((line, n) => [(started[n] as Of<'started'>).version, line.version] as const);
  });
  const isOld = (version: Version): boolean => version !== 'today';
  const makers = new Map(all(lines, 'started').map(({ key, token, version }) => [`${key} ${token}`, version]));
  const replays = all(lines, 'got')
    .filter(({ replayed }) => replayed)
    .map(({ key, token, version }) => [makers.get(`${key} ${token}`) ?? version, version] as const);
  const charges = new Map(all(lines, 'charging').map(({ id, version }) => [id, version]));
  const leased = all(lines, 'leased').sort((a, b) => a.token - b.token);
  const handed = (list: readonly (readonly [Version, Version])[], fromOld: boolean): number =>
    list.filter(([from, to]) => isOld(from) === fromOld && isOld(to) !== fromOld).length;
  return {
    todayAfterOld: handed(pairs, true),
    oldAfterToday: handed(pairs, false),
    todayReplaysOld: handed(replays, true),
    oldReplaysToday: handed(replays, false),
    stepsHandedOn: all(lines, 'charged').filter(({ id, version }) => isOld(charges.get(id) ?? version) !== isOld(version)).length,
    leasesHandedOn: leased.slice(1).filter((line, n) => isOld((leased[n] as Of<'leased'>).version) !== isOld(line.version)).length,
    overtaken: all(lines, 'refused').filter(({ code }) => code === 'LEASE_LOST' || code === 'STALE_TOKEN').length,
  };
}
