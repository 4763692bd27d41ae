/**
 * A process of its own that holds file leases.
 *
 * @module
 */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { serve } from '../../scripts/demo/calls.ts';
import { gate } from '../../scripts/support/gate.ts';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { withLease } from '../../src/core/lease.ts';
import { fencedClaimFile, fencedWriteFile, fileLeases } from '../../src/leases/file/index.ts';
import type { FileLeasesOptions } from '../../src/leases/file/options.ts';
import type { Found } from './file-leases-task.ts';

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
  async reads({ name, ms }: { name: string; ms: number }) {
    let looks = 0;
    for (const endsAtMs = performance.now() + ms; performance.now() < endsAtMs; looks += 1) await leases.read(name);
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
