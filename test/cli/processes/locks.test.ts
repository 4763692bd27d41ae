import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAzurite } from '../../support/azurite.ts';
import { byLength } from '../../support/long.ts';
import { burst } from './burst.ts';
import { AZURE_SETTING, type PlaceKind, sqlite } from './places.ts';
import { cliStage } from './stage.ts';
import { type Seen, seenIn } from './witness.ts';
import type { Ended } from './wrappers.ts';

const file: PlaceKind = {
  name: 'file:',
  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'rerunsafe-cli-locks-'));
    return { url: `file:${folder}`, env: {}, uncertaintyMs: 0, stop: async () => rmSync(folder, { recursive: true, force: true }) };
  },
};

const blob: PlaceKind = {
  name: 'azure-blob:',
  async start() {
    const { connectionString, stop } = await startAzurite({ services: ['blob'] });
    return { url: `azure-blob:leases?connection=${AZURE_SETTING}`, env: { [AZURE_SETTING]: connectionString }, uncertaintyMs: 0, stop };
  },
};

const MANY = byLength(4, 6, 50);
const SLOT = ['--mode', 'slot', '--slot', '1h', '--at', '2026-03-01T10:20:00Z'];

/** Those that were inside while somebody else was. */
function together(seen: readonly Seen[]): Seen[] {
  let inside: Seen | undefined;
  return seen.filter((one) => {
    const isTogether = one.what === 'in' ? inside !== undefined : inside?.pid !== one.pid;
    inside = one.what === 'in' ? one : undefined;
    return isTogether;
  });
}

const all = (became: string, ends: readonly Ended[]): Ended[] => ends.filter(({ report }) => report?.became === became);

describe('a witness of a lock', () => {
  it('finds two that were inside together', () => {
    const seen = (what: 'in' | 'out', pid: number): Seen => ({ what, pid, attempt: 1, token: pid });
    expect(together([seen('in', 1), seen('out', 1), seen('in', 2), seen('out', 2)])).toEqual([]);
    expect(together([seen('in', 1), seen('in', 2), seen('out', 2), seen('out', 1)])).not.toEqual([]);
    expect(together([seen('in', 1), seen('in', 2), seen('out', 1), seen('out', 2)])).not.toEqual([]);
  });
});

describe.each([sqlite, file, blob])('leases on $name', ({ start }) => {
  const stage = cliStage({ start });

  it(`I6 ${MANY} processes that ask for a lock at the same moment, and wait: all of them run, never two inside`, { timeout: 120_000 }, async () => {
    const { place, wrappers } = stage;
    const witness = wrappers.path('lock');
    const options = ['--store', place.url, '--mode', 'lock', '--key', 'the-lock', '--wait', '100s'];
    const { wrappers: started } = await burst(wrappers, MANY, () => options, { witness });
    const ends = await Promise.all(started.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual(ends.map(() => 0));
    const seen = seenIn(witness);
    expect(seen.filter(({ what }) => what === 'in')).toHaveLength(MANY);
    expect(together(seen)).toEqual([]);
    const tokens = seen.filter(({ what }) => what === 'in').map(({ token }) => token);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it(`I1 ${MANY} processes for the same slot at the same moment: one runs, the others exit 75, or 0 since it is done`, {
    timeout: 60_000,
  }, async () => {
    const { place, wrappers } = stage;
    const witness = wrappers.path('slot');
    const options = ['--store', place.url, ...SLOT, '--key', 'the-slot'];
    const { wrappers: started } = await burst(wrappers, MANY, () => options, { witness });
    const ends = await Promise.all(started.map(({ ended }) => ended));
    expect(all('succeeded', ends)).toHaveLength(1);
    expect([...all('busy', ends), ...all('already-done', ends)]).toHaveLength(MANY - 1);
    for (const { code, report } of ends) expect([report?.became, code]).toEqual([report?.became, report?.became === 'busy' ? 75 : 0]);
    expect(await wrappers.ask('run', '--json', ...options, '--', 'false')).toMatchObject({ code: 0, report: { became: 'already-done' } });
    expect(seenIn(witness).map(({ what }) => what)).toEqual(['in', 'out']);
  });
});
