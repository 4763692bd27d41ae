/**
 * A process of its own that holds file leases.
 *
 * @module
 */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '../../scripts/demo/calls.ts';
import { gate } from '../../scripts/support/gate.ts';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { withLease } from '../../src/core/lease.ts';
import { fencedClaimFile, fencedWriteFile, fileLeases } from '../../src/leases/file/index.ts';
import type { FileLeasesOptions } from '../../src/leases/file/options.ts';
import { type Found, hostMs, type Noted, type Turns } from './file-leases-task.ts';

const leases = fileLeases(JSON.parse(process.env.LEASES ?? '{}') as FileLeasesOptions);
let wake = (): void => {};

const codeOf = (error: unknown): string => (isRerunSafeError(error) ? error.code : String(error));
const seen = async (body: () => unknown): Promise<string> => {
  try {
    return String((await body()) ?? 'done');
  } catch (error) {
    return codeOf(error);
  }
};

async function turns({ name, count, leaseMs, lateEvery, counter, history }: Turns): Promise<number> {
  const note = (line: Noted): void => appendFileSync(history, `${JSON.stringify(line)}\n`);
  for (let turn = 1; turn <= count; turn += 1) {
    const late = lateEvery > 0 && turn % lateEvery === 0;
    await one(late);
  }
  return count;

  async function one(late: boolean): Promise<void> {
    for (;;) {
      const owner = crypto.randomUUID();
      const sentAtMs = hostMs();
      const got = await leases.acquire(name, { owner, leaseMs }).catch((error: unknown) => {
        // Stopped while it was acquiring, until its lease was over: nothing was handed out.
        if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) return undefined;
        throw error;
      });
      if (got?.kind !== 'acquired') {
        await pause(1 + Math.random() * 10);
        continue;
      }
      const { token } = got;
      const facts = { pid: process.pid, token };
      const fence = { id: name, owner, token };
      note({ ...facts, what: 'in', atMs: hostMs(), untilMs: sentAtMs + leaseMs });
      try {
        const { data } = await fencedClaimFile(counter, fence);
        const n = data === undefined ? 0 : (JSON.parse(data.toString()) as { n: number }).n;
        if (late) await successorWrote(token);
        await fencedWriteFile(counter, fence, JSON.stringify({ n: n + 1, token }));
        note(late ? { ...facts, what: 'landed late', atMs: hostMs() } : { ...facts, what: 'wrote', n: n + 1, atMs: hostMs() });
      } catch (error) {
        if (!isRerunSafeError(error, 'STALE_TOKEN')) throw error;
        note({ ...facts, what: 'refused', atMs: hostMs() });
      }
      note({ ...facts, what: 'out', atMs: hostMs() });
      await leases.release(name, { owner, token });
      return;
    }
  }

  /** Reads as anybody may, without a fence. */
  async function successorWrote(token: number): Promise<void> {
    for (const endsAtMs = hostMs() + 20_000; hostMs() < endsAtMs; await pause(5)) {
      const text = await readFile(counter, 'utf8').catch(() => '{"token":0}');
      if ((JSON.parse(text) as { token: number }).token > token) return;
    }
    throw new Error('nobody followed');
  }
}

/** In each way that a program starts another. They say nothing and stay. */
async function children(): Promise<number[]> {
  const stay = ['-e', 'setInterval(() => {}, 1000)'];
  const started: ChildProcess[] = [
    spawn(process.execPath, stay, { stdio: 'ignore' }),
    spawn(process.execPath, stay, { stdio: 'inherit' }),
    spawn(process.execPath, stay, { stdio: 'ignore', detached: true }),
    execFile(process.execPath, stay),
    fork('data:text/javascript,', { execArgv: stay, stdio: 'ignore' }),
  ];
  await Promise.all(started.map((child) => once(child, 'spawn')));
  return started.map(({ pid }) => pid ?? 0);
}

serve({
  setUp: () => leases.setUp(),
  async become({ uid }: { uid: number }) {
    process.setgroups?.([]);
    process.setgid?.(uid);
    process.setuid?.(uid);
  },
  async acquire({ name, leaseMs }: { name: string; leaseMs: number }) {
    const owner = crypto.randomUUID();
    return { owner, got: await leases.acquire(name, { owner, leaseMs }) };
  },
  release: ({ name, owner, token }: { name: string; owner: string; token: number }) => leases.release(name, { owner, token }),
  break: ({ name }: { name: string }) => leases.break(name),
  read: ({ name }: { name: string }) => leases.read(name),
  children,
  turns,
  async reads({ name, ms }: { name: string; ms: number }) {
    let looks = 0;
    for (const endsAtMs = hostMs() + ms; hostMs() < endsAtMs; looks += 1) await leases.read(name);
    return looks;
  },
  /** Acquires and releases with a mark, as fast as it goes, until it is killed. */
  async spin({ name, history, from }: { name: string; history: string; from: number }) {
    for (let slot = from; ; slot += 1) {
      const owner = crypto.randomUUID();
      const got = await leases.acquire(name, { owner, leaseMs: 60_000 });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      appendFileSync(history, `{"token":${got.token}}\n`);
      await leases.release(name, { owner, token: got.token, slotDone: slot });
      appendFileSync(history, `{"slot":${slot}}\n`);
    }
  },
  /** Works on until it is woken, as if nothing had happened, and says what it found. */
  async work({ name, leaseMs, path }: { name: string; leaseMs: number; path: string }): Promise<Found> {
    const woken = gate();
    wake = () => woken.open();
    const result = await withLease(leases, name, { leaseMs }, async (lease): Promise<Found> => {
      await fencedClaimFile(path, lease.fence);
      process.send?.({ kind: 'log', line: String(lease.token) });
      await woken.opened;
      const held = await seen(() => lease.assertHeld());
      const { aborted } = lease.signal;
      const written = await seen(() => fencedWriteFile(path, lease.fence, 'late'));
      const renewed = await seen(() => lease.renew());
      return { held, aborted, written, renewed, released: await lease.release() };
    });
    if (result.kind !== 'done') throw new Error(result.kind);
    return result.value;
  },
  async wake() {
    wake();
  },
});
