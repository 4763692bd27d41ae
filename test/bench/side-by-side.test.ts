import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cell } from '../../bench/promises/compare.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import { redisAvailable } from '../support/redis.ts';

const COMMAND = fileURLToPath(new URL('../../bench/promises/run.ts', import.meta.url));
const ONLY = ['stale-result', 'claim-lost', 'other-payload'];
const PEERS = ['rerunsafe-dynamodb', 'rerunsafe-redis', 'powertools'];

describe.runIf((await javaAvailable()) && redisAvailable())('the comparison with others, by its command', () => {
  let folder: string;
  let cells: readonly Cell[];
  let printed: string;
  const of = (peer: string): readonly Cell[] => cells.filter((cell) => cell.peer === peer);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rerunsafe-side-by-side-'));
    const json = join(folder, 'results.json');
    const chosen = [...ONLY.flatMap((name) => ['--only', name]), ...PEERS.flatMap((name) => ['--peer', name])];
    const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, '--trials', '1', '--at-once', '3', '--json', json, ...chosen]);
    printed = stdout;
    ({ cells } = JSON.parse(await readFile(json, 'utf8')) as { cells: Cell[] });
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(['rerunsafe-dynamodb', 'rerunsafe-redis'])('I1 I2 I3 I4 I7 I9 %s broke nothing, and each trial got to what it looks at', (peer) => {
    expect(of(peer).map(({ scenario, trials }) => [scenario, trials])).toEqual(ONLY.map((scenario) => [scenario, 1]));
    expect(of(peer).flatMap(({ broken }) => Object.values(broken))).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  it('I1 I4 the control did: with Powertools a stale result replaces the accepted one', () => {
    const [stale] = of('powertools');
    expect(stale).toMatchObject({ scenario: 'stale-result', trials: 1, broken: { overwritten: 1, agree: 1 } });
    expect(printed).toMatch(/a later caller got another answer .*\| 0\/1 \| 0\/1 \| 1\/1 \[\d\] \|/);
  });
});
