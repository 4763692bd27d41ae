import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withLease } from '../../../src/core/lease.ts';
import { fencedClaimFile, fencedDeleteFile, fencedWriteFile } from '../../../src/leases/file/index.ts';
import { lockFile } from '../../../src/leases/file/locked-file.ts';
import { loadKernelLocks } from '../../../src/leases/file/native-lock.ts';
import { SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject, NAME } from './file-subject.ts';

const on = fileSubject();
const target = (): string => join(on.root, 'report.csv');
const fence = (token: number) => ({ id: 'nightly', owner: `owner ${token}`, token });
const text = (): Promise<string> => readFile(target(), 'utf8');
const STALE = { code: 'STALE_TOKEN', facts: { id: 'nightly', token: 1, storedToken: 2 } };

describe('a file under a fence', () => {
  it('I4 a stale holder is refused with both tokens, and what its successor wrote stands', async () => {
    await fencedWriteFile(target(), fence(1), 'one');
    await fencedWriteFile(target(), fence(1), 'one again');
    await fencedWriteFile(target(), fence(2), new TextEncoder().encode('two'));
    await expect(fencedWriteFile(target(), fence(1), 'late')).rejects.toMatchObject(STALE);
    await expect(fencedDeleteFile(target(), fence(1))).rejects.toMatchObject(STALE);
    await expect(fencedClaimFile(target(), fence(1))).rejects.toMatchObject(STALE);
    expect(await text()).toBe('two');
  });

  it('I4 a claim alone keeps a stale holder out, and gives what stands', async () => {
    expect(await fencedClaimFile(target(), fence(1))).toEqual({ data: undefined });
    await fencedWriteFile(target(), fence(1), 'one');
    expect((await fencedClaimFile(target(), fence(2))).data?.toString()).toBe('one');
    await expect(fencedWriteFile(target(), fence(1), 'late')).rejects.toMatchObject(STALE);
    expect(await text()).toBe('one');
  });

  it('I4 a stale holder cannot bring back what was deleted', async () => {
    await fencedWriteFile(target(), fence(1), 'one');
    await fencedDeleteFile(target(), fence(2));
    await fencedDeleteFile(target(), fence(2));
    await expect(fencedWriteFile(target(), fence(1), 'late')).rejects.toMatchObject(STALE);
    expect(await fencedClaimFile(target(), fence(2))).toEqual({ data: undefined });
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'report.csv.fence']);
  });

  it('I4 of writers that race, the one with the highest token stands, and no reader sees a part', async () => {
    const long = 'x'.repeat(300_000);
    await fencedWriteFile(target(), fence(0), `0${long}`);
    let over = false;
    const reading = (async () => {
      let looks = 0;
      for (; !over; looks += 1) expect((await text()).length).toBe(long.length + 1);
      return looks;
    })();
    const written = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => fencedWriteFile(target(), fence(n + 1), `${n + 1}${long}`)));
    over = true;
    expect(await reading).toBeGreaterThan(0);
    expect(written[7]?.status).toBe('fulfilled');
    for (const one of written) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STALE_TOKEN' });
    expect((await text())[0]).toBe('8');
    expect(await on.openFiles()).toEqual([]);
  });

  it('I4 two ways to one file lead to one fence', async () => {
    await mkdir(join(on.root, 'real'));
    await symlink(join(on.root, 'real'), join(on.root, 'way'));
    const real = join(on.root, 'real', 'a');
    await fencedWriteFile(join(on.root, 'way', 'a'), fence(1), 'one');
    await symlink(real, join(on.root, 'link'));
    await fencedWriteFile(join(on.root, 'link'), fence(2), 'two');
    await expect(fencedWriteFile(real, fence(1), 'late')).rejects.toMatchObject(STALE);
    expect(await readFile(real, 'utf8')).toBe('two');
  });

  it('keeps permissions and owner, takes others when told to, and never shows a secret on the way', async () => {
    await writeFile(target(), 'old');
    await chmod(target(), 0o600);
    await fencedWriteFile(target(), fence(1), 'new');
    expect((await stat(target())).mode & 0o777).toBe(0o600);
    await fencedWriteFile(target(), fence(1), 'new', { mode: 0o640 });
    expect((await stat(target())).mode & 0o777).toBe(0o640);
    if (process.geteuid?.() !== 0) return;
    await chown(target(), 12_345, 12_345);
    await fencedWriteFile(target(), fence(1), 'newer');
    expect(await stat(target())).toMatchObject({ uid: 12_345, gid: 12_345 });
  });

  it('what the caller changes after the call is not written', async () => {
    const bytes = Buffer.from('before');
    const writing = fencedWriteFile(target(), fence(1), bytes);
    bytes.fill('x');
    await writing;
    expect(await text()).toBe('before');
  });

  it('left behind by a crash: half a new file hinders nobody', async () => {
    await writeFile(`${target()}.fence-new`, 'half');
    await fencedWriteFile(target(), fence(1), 'whole');
    expect(await text()).toBe('whole');
    expect((await readdir(on.root)).sort()).toEqual(['leases', 'report.csv', 'report.csv.fence']);
  });

  it('I4 a fence that is damaged lets nobody through', async () => {
    await fencedWriteFile(target(), fence(1), 'one');
    await writeFile(`${target()}.fence`, 'x'.repeat(3 * SLOT_BYTES));
    await expect(fencedWriteFile(target(), fence(2), 'two')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(await text()).toBe('one');
  });

  it('I10 I12 waits for whoever is just writing, but not for ever, and goes when it is told to', async () => {
    const locks = await loadKernelLocks();
    const access = { fileMode: undefined, ownOnly: false, oneName: false };
    const writer = await lockFile(`${target()}.fence`, { access, locks });
    if (writer === 'held') throw new Error(writer);
    await expect(fencedWriteFile(target(), fence(1), 'x', { waitMs: 50 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const controller = new AbortController();
    const waiting = fencedWriteFile(target(), fence(1), 'x', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const patient = fencedWriteFile(target(), fence(1), 'patient');
    await writer.close();
    await patient;
    expect(await text()).toBe('patient');
    expect(await on.openFiles()).toEqual([]);
  });

  it('what makes no sense is refused: no directory, a directory in its place, no fence', async () => {
    await expect(fencedWriteFile(join(on.root, 'none', 'a'), fence(1), 'x')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    await mkdir(target());
    await expect(fencedWriteFile(target(), fence(1), 'x')).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    await rm(target(), { recursive: true });
    const wrong = [
      () => fencedWriteFile('', fence(1), 'x'),
      () => fencedWriteFile(target(), fence(-1), 'x'),
      () => fencedWriteFile(target(), {} as never, 'x'),
    ];
    for (const call of wrong) await expect(call()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(fencedWriteFile(target(), fence(1), 'x', { mod: 1 } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await readdir(on.root)).not.toContain('report.csv');
  });
});

it('I4 a holder whose lease ran out while it worked is refused once its successor has claimed, and the fence can travel as JSON', async () => {
  await withLease(on.leases, NAME, { leaseMs: 100, renew: 'none' }, async (late) => {
    await fencedWriteFile(target(), late.fence, 'first');
    const result = await withLease(on.leases, NAME, { waitMs: 10_000 }, async (next) => {
      const claimed = await fencedClaimFile(target(), JSON.parse(JSON.stringify(next.fence)));
      expect(claimed.data?.toString()).toBe('first');
      await expect(fencedWriteFile(target(), late.fence, 'late')).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { storedToken: next.token } });
      await fencedWriteFile(target(), next.fence, 'second');
    });
    expect(result.kind).toBe('done');
  });
  expect(await text()).toBe('second');
});
