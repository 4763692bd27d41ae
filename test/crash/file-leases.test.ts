import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startWorker, type WorkerProcess } from '../../scripts/demo/calls.ts';
import { sendSignal } from '../../scripts/send-signal.ts';
import { tryAcquire, withLease } from '../../src/core/lease.ts';
import type { Acquired, LeaseProvider } from '../../src/core/ports.ts';
import { fencedClaimFile, fencedWriteFile, fileLeases } from '../../src/leases/file/index.ts';
import type { FileLeasesOptions } from '../../src/leases/file/options.ts';
import { LONG } from '../support/long.ts';
import { until } from '../support/promises-case.ts';
import type { Found } from './file-leases-task.ts';

vi.setConfig({ testTimeout: 120_000 });

const SCRIPT = new URL('file-leases-worker.ts', import.meta.url).href;
const NAME = 'nightly';
const LONG_MS = 60_000;
const KILLS = LONG ? 60 : 12;

let root: string;
let leases: Required<LeaseProvider>;
let workers: WorkerProcess[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rerunsafe-crash-'));
  leases = fileLeases({ directory: join(root, 'leases') });
  await leases.setUp();
  workers = [];
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await rm(root, { recursive: true, force: true });
});

async function start(options: Partial<FileLeasesOptions> = {}): Promise<WorkerProcess> {
  const worker = await startWorker(SCRIPT, { LEASES: JSON.stringify({ directory: join(root, 'leases'), ...options }) });
  workers.push(worker);
  return worker;
}
const ask = (from: LeaseProvider = leases): Promise<Acquired> => from.acquire(NAME, { owner: randomUUID(), leaseMs: LONG_MS });
const hold = async (worker: WorkerProcess, leaseMs = LONG_MS): Promise<{ owner: string; token: number }> => {
  const { owner, got } = await worker.call<{ owner: string; got: Acquired }>('acquire', { name: NAME, leaseMs });
  if (got.kind !== 'acquired') throw new Error(got.kind);
  return { owner, token: got.token };
};
const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('file leases over processes', () => {
  it('I6 what one process holds no other gets, and what it releases is free', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    const holder = await hold(one);
    expect((await two.call<{ got: Acquired }>('acquire', { name: NAME, leaseMs: LONG_MS })).got).toMatchObject({ kind: 'held' });
    expect(await two.call('release', { name: NAME, ...holder })).toBe('lost');
    expect(await leases.read(NAME)).toMatchObject({ held: true, owner: holder.owner, token: holder.token });
    expect(await one.call('release', { name: NAME, ...holder })).toBe('released');
    expect((await hold(two)).token).toBeGreaterThan(holder.token);
  });

  it('I5 I10 kill -9 of a holder with a minute to go: free at once, for whoever asks and for whoever waits', async () => {
    const first = await start();
    const { token } = await hold(first);
    await first.kill();
    const second = await start();
    const { token: next } = await hold(second);
    expect(next).toBeGreaterThan(token);
    const waiting = tryAcquire(leases, NAME, { waitMs: 30_000 });
    const killedAtMs = performance.now();
    await second.kill();
    const got = await waiting;
    // One poll, at most a second apart, on a busy machine.
    expect(performance.now() - killedAtMs).toBeLessThan(5_000);
    if (got.kind !== 'acquired') throw new Error(got.kind);
    expect(got.lease.token).toBeGreaterThan(next);
    expect(await got.lease.release()).toBe('released');
  });

  it('I6 I10 of eight that ask at once for what a dead holder left, one gets it', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => start()));
    const dead = await start();
    const { token } = await hold(dead);
    await dead.kill();
    const answers = await Promise.all(all.map((worker) => worker.call<{ got: Acquired }>('acquire', { name: NAME, leaseMs: LONG_MS })));
    const tokens = answers.flatMap(({ got }) => (got.kind === 'acquired' ? [got.token] : []));
    expect(tokens).toHaveLength(1);
    expect(tokens[0]).toBeGreaterThan(token);
  });

  it('I10 children that outlive a killed holder do not keep its lease, however they were started', async () => {
    const holder = await start();
    await hold(holder);
    const pids = await holder.call<number[]>('children');
    try {
      expect(await ask()).toMatchObject({ kind: 'held' });
      await holder.kill();
      expect(await ask()).toMatchObject({ kind: 'acquired' });
      expect(pids.filter(alive)).toEqual(pids);
    } finally {
      for (const pid of pids) if (pid > 0 && alive(pid)) sendSignal(pid, 'SIGKILL');
    }
  });

  it('I5 killed in the middle of writing, again and again: no token comes again, no slot that was marked is forgotten', async () => {
    const history = join(root, 'history');
    // A worker may be killed after its first token is on the disk, and before it has told of it.
    await writeFile(history, '');
    let lastToken = 0;
    let lastSlot = 0;
    for (let round = 0; round < KILLS; round += 1) {
      const worker = await start();
      worker.call('spin', { name: NAME, history, from: lastSlot + 1 }).catch(() => {});
      await until('it has begun', async () => {
        const state = await leases.read(NAME);
        return state !== undefined && state.token > lastToken;
      });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
      await worker.kill();
      const lines = (await readFile(history, 'utf8'))
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { token?: number; slot?: number });
      const tokens = lines.flatMap(({ token }) => token ?? []);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      lastToken = Math.max(lastToken, ...tokens);
      const marked = Math.max(0, ...lines.flatMap(({ slot }) => slot ?? []));
      const state = await leases.read(NAME);
      expect(state?.held).toBe(false);
      expect(state?.token).toBeGreaterThanOrEqual(lastToken);
      expect(state?.lastSlot ?? 0).toBeGreaterThanOrEqual(marked);
      lastSlot = Math.max(marked, state?.lastSlot ?? 0);
    }
  });

  it('I6 looking, all the time and from two processes, makes nobody’s acquisition fail', async () => {
    const readers = await Promise.all([start(), start()]);
    const reading = Promise.all(readers.map((worker) => worker.call<number>('reads', { name: NAME, ms: 2_500 })));
    const kinds = new Set<string>();
    let rounds = 0;
    for (const endsAtMs = performance.now() + 2_000; performance.now() < endsAtMs; rounds += 1) {
      const owner = randomUUID();
      const got = await leases.acquire(NAME, { owner, leaseMs: LONG_MS });
      kinds.add(got.kind);
      await leases.release(NAME, { owner, token: 0 });
    }
    for (const looks of await reading) expect(looks).toBeGreaterThan(20);
    expect(rounds).toBeGreaterThan(20);
    expect([...kinds]).toEqual(['acquired']);
  });
});

describe('a process that is stopped', () => {
  const LEASE_MS = 600;
  const path = (): string => join(root, 'report');
  /** It holds the lease, has claimed the file, and works. */
  async function working(leaseMs: number): Promise<{ worker: WorkerProcess; token: number; found: Promise<Found> }> {
    const worker = await start();
    const found = worker.call<Found>('work', { name: NAME, leaseMs, path: path() });
    await until('it works', () => worker.logs.length > 0);
    return { worker, token: Number(worker.logs[0]), found };
  }

  it('I4 I6 past its lease: nobody else gets it meanwhile, and people are told; going on, it is told, gives it up, and its late write is refused', async () => {
    const { worker, token, found } = await working(LEASE_MS);
    worker.pause();
    await until('it is overdue', async () => (await leases.read(NAME))?.remainingMs === 0);
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
    expect(await leases.read(NAME)).toMatchObject({ held: true, token, remainingMs: 0 });
    expect(await ask()).toEqual({ kind: 'held' });

    worker.resume();
    const result = await withLease(leases, NAME, { waitMs: 20_000 }, async (lease) => {
      expect(lease.token).toBeGreaterThan(token);
      await fencedClaimFile(path(), lease.fence);
      await fencedWriteFile(path(), lease.fence, 'the successor');
      await worker.call('wake');
      const late = await found;
      await lease.renew();
      return late;
    });
    expect(result).toEqual({
      kind: 'done',
      released: 'released',
      value: { held: 'LEASE_LOST', aborted: true, written: 'STALE_TOKEN', renewed: 'LEASE_LOST', released: 'lost' },
    });
    expect(await readFile(path(), 'utf8')).toBe('the successor');
  });

  it('I4 I5 and whose lease an operator breaks: the next has it at once, a third is held off, and the stopped one, going on, changes nothing', async () => {
    const { worker, token, found } = await working(LONG_MS);
    worker.pause();
    expect(await ask()).toMatchObject({ kind: 'held' });
    await leases.break(NAME);
    const result = await withLease(leases, NAME, {}, async (lease) => {
      expect(lease.token).toBeGreaterThan(token);
      await fencedClaimFile(path(), lease.fence);
      await fencedWriteFile(path(), lease.fence, 'the successor');
      worker.resume();
      await worker.call('wake');
      const late = await found;
      const third = await start();
      expect((await third.call<{ got: Acquired }>('acquire', { name: NAME, leaseMs: LONG_MS })).got).toMatchObject({ kind: 'held' });
      await lease.renew();
      return late;
    });
    // Its own deadline is a minute away: the store and the renewal tell it, not the clock.
    expect(result).toEqual({
      kind: 'done',
      released: 'released',
      value: { held: 'done', aborted: false, written: 'STALE_TOKEN', renewed: 'LEASE_LOST', released: 'lost' },
    });
    expect(await readFile(path(), 'utf8')).toBe('the successor');
  });
});

// Only root can become somebody else.
if (process.geteuid?.() === 0) {
  describe('processes of two users', () => {
    const UID = 12_345;
    async function stranger(options: FileLeasesOptions): Promise<WorkerProcess> {
      const worker = await start(options);
      await worker.call('become', { uid: UID });
      return worker;
    }
    const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
      call.then(
        () => 'done',
        (error: { cause?: { code?: string } }) => error.cause?.code,
      );

    it('I6 keep out each other in a directory for everyone; one cannot break what belongs to the other', async () => {
      const options: FileLeasesOptions = { directory: join(root, 'everyone'), sharedWith: 'everyone' };
      await chmod(root, 0o755);
      const ours = fileLeases(options);
      await ours.setUp();
      const got = await ask(ours);
      const worker = await stranger(options);
      const theirs = (): Promise<Acquired> =>
        worker.call<{ got: Acquired }>('acquire', { name: NAME, leaseMs: LONG_MS }).then((answer) => answer.got);
      expect(await theirs()).toMatchObject({ kind: 'held' });
      expect(await worker.call('read', { name: NAME })).toMatchObject({ held: true });
      expect(await codeOf(worker.call('break', { name: NAME }))).toBe('STORE_MISCONFIGURED');
      await ours.break(NAME);
      const next = await theirs();
      expect(next.kind === 'acquired' && got.kind === 'acquired' && next.token > got.token).toBe(true);
      expect(await ask(ours)).toMatchObject({ kind: 'held' });
      await worker.kill();
      expect(await ask(ours)).toMatchObject({ kind: 'acquired' });
    });

    it('a lock file that a stranger has put where ours belongs is not used', async () => {
      await chmod(root, 0o755);
      const directory = join(root, 'tmp');
      await mkdir(directory);
      await chmod(directory, 0o1777);
      const squatter = await stranger({ directory, sharedWith: 'everyone' });
      await hold(squatter);
      const other = await start({ directory });
      await other.call('become', { uid: UID + 1 });
      expect(await codeOf(other.call('acquire', { name: NAME, leaseMs: LONG_MS }))).toBe('STORE_MISCONFIGURED');
    });

    it('a directory of one user is closed to the other, who is told so', async () => {
      await chmod(root, 0o755);
      const worker = await stranger({ directory: join(root, 'leases') });
      expect(await codeOf(worker.call('acquire', { name: NAME, leaseMs: LONG_MS }))).toBe('STORE_MISCONFIGURED');
    });
  });
}
