import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCHEMA } from '../../src/core/record.ts';
import { fileLeases } from '../../src/leases/file/index.ts';
import { cli, lockFilesIn, putLockFiles, putRows, readBeside, rowsIn, run, TAIL, writeLockFiles, writeRuns } from './beside.ts';
import { SLOT } from './scenarios.ts';
import { shapeOf } from './shape.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rerunsafe-golden-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('golden lock files', () => {
  const files = readBeside<Record<string, string>>('lock-files', SCHEMA);
  const records = (of: Readonly<Record<string, string>>) =>
    Object.entries(of).map(([name, text]) => [name, ...[...text.matchAll(/^\{.*\}$/gm)].map(([json]) => shapeOf(JSON.parse(json)))]);

  it('I5 each is read, and whoever comes next has a higher token; slots that are done stay done', async () => {
    const directory = join(folder, 'read');
    await putLockFiles(directory, files);
    const leases = fileLeases({ directory });
    for (const name of ['released', 'broken', 'held']) {
      const before = await leases.read(name);
      expect(before, name).toMatchObject({ held: false });
      const got = await leases.acquire(name, { owner: 'the next', leaseMs: 60_000 });
      if (got.kind !== 'acquired' || before === undefined) return expect.unreachable(`${name} is ${got.kind}`);
      expect(got.token).toBeGreaterThan(before.token);
      expect(await leases.release(name, { owner: 'the next', token: got.token })).toBe('released');
    }
    expect(await leases.acquire('slot-done', { owner: 'the next', leaseMs: 60_000, slot: SLOT })).toEqual({ kind: 'slot-done' });
    expect(await leases.acquire('slot-done', { owner: 'the next', leaseMs: 60_000, slot: SLOT - 1 })).toEqual({
      kind: 'slot-passed',
      lastSlot: SLOT,
    });
  });

  it('today’s code writes them in that very form', async () => {
    const directory = join(folder, 'written');
    await writeLockFiles(directory);
    expect(records(await lockFilesIn(directory))).toEqual(records(files));
  });

  it('I5 one of a later form is refused by everybody, and stays as it is', async () => {
    const directory = join(folder, 'later');
    const later = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, text.replaceAll('rerunsafe-1 ', 'rerunsafe-2 ')]));
    await putLockFiles(directory, later);
    for (const name of ['released', 'slot-done', 'held']) {
      const acquired = fileLeases({ directory }).acquire(name, { owner: 'the next', leaseMs: 60_000 });
      await expect(acquired).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    }
    expect(await lockFilesIn(directory)).toEqual(later);
  });
});

describe('golden records of the command line', () => {
  const rows = readBeside<Record<string, unknown>[]>('command-line', SCHEMA);
  const shapes = (of: readonly Record<string, unknown>[]) => of.map((row) => [row.label, row.state, shapeOf(row)]);

  it('I3 what is done is not run again, and its output is printed; what failed runs, or stays blocked; all of it is shown', async () => {
    const path = join(folder, 'read.db');
    await cli(path, ['set-up']);
    putRows(path, rows);
    const [done, tail, failed, blocked, shown] = await Promise.all([
      run(path, 'done', 'the second'),
      run(path, 'done-with-tail', 'the second', [...TAIL, '--replay']),
      run(path, 'failed', 'the second'),
      run(path, 'failed-for-good', 'the second', ['--on-failure', 'block']),
      cli(path, ['show', 'failed-for-good']),
    ]);
    expect(done).toMatchObject({ code: 0, out: expect.not.stringContaining('said by') });
    expect(tail).toMatchObject({ code: 0, out: expect.stringContaining('said by the first') });
    expect(failed).toMatchObject({ code: 0, out: expect.stringContaining('said by the second') });
    expect(blocked.out).not.toContain('said by');
    expect(blocked.code).not.toBe(0);
    expect(shown.out).toContain('exit code 3');
  });

  it('today’s code writes them in that very form', async () => {
    const path = join(folder, 'written.db');
    await writeRuns(path);
    expect(shapes(rowsIn(path))).toEqual(shapes(rows));
  });
});
