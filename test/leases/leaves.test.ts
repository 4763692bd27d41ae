import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KINDS, type Start, type Started } from './kinds.ts';
import type { Leaving } from './leaves-worker.ts';
import { openLeases, type Place } from './places.ts';

const SCRIPT = fileURLToPath(new URL('leaves-worker.ts', import.meta.url));
const ENDS_WITHIN_MS = 10_000;
const LIMIT_MS = 60_000;
const leaseMsOf = ({ kind }: Place): number => (kind === 'azure-blob' ? 15_000 : 5_000);

interface Left {
  readonly code: number | null;
  readonly complaints: string;
  readonly said: unknown;
  readonly tookMs: number;
}

const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Runs a holder to its end. `held`: while it holds. */
async function leave(place: Place, name: string, leaving: Leaving, held: () => Promise<void> = async () => {}): Promise<Left> {
  const args = ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify([place, name, leaseMsOf(place), leaving])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const exited = once(child, 'exit');
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS - 10_000);
  let said: unknown;
  let saidAtMs = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"held"')) await held();
    said = JSON.parse(line);
    saidAtMs = performance.now();
  }
  const [code] = (await exited) as [number | null];
  clearTimeout(limit);
  children.delete(child);
  return { code, complaints, said, tookMs: performance.now() - saidAtMs };
}

describe.each(Object.entries(KINDS))('a process that is done with its lease of %s, and closes nothing', (_, start) => {
  let started: Started;
  beforeAll(async () => {
    started = await start();
    const { leases, close } = openLeases(started.place);
    await leases.setUp();
    close();
  }, 120_000);
  afterAll(() => started?.stop());

  it.concurrent(
    'I12 tristanls #1, redis-semaphore #20 ends by itself when it has released it',
    async ({ expect }) => {
      const left = await leave(started.place, 'released', 'released');
      expect(left).toMatchObject({ code: 0, complaints: '', said: { released: 'released' } });
      expect(left.tookMs).toBeLessThan(ENDS_WITHIN_MS);
    },
    LIMIT_MS,
  );

  it.concurrent(
    'I12 ends by itself when it was taken away',
    async ({ expect }) => {
      const left = await leave(started.place, 'taken away', 'taken away');
      expect(left).toMatchObject({ code: 0, complaints: '', said: { released: 'lost', lost: 'LEASE_LOST' } });
      expect(left.tookMs).toBeLessThan(ENDS_WITHIN_MS);
    },
    LIMIT_MS,
  );
});

describe('what leases are kept in goes down while one is held, for ever', () => {
  async function goDown(start: Start): Promise<{ left: Left; heldForMs: number; leaseMs: number }> {
    const { place, stop } = await start();
    const { leases, close } = openLeases(place);
    await leases.setUp();
    close();
    let downAtMs = 0;
    const left = await leave(place, 'job', 'out of reach', async () => {
      downAtMs = performance.now();
      if (place.kind === 'file') await rm(place.directory, { recursive: true });
      else if (place.kind === 'sqlite') await rm(dirname(place.path), { recursive: true });
      else await stop();
    });
    const heldForMs = performance.now() - left.tookMs - downAtMs;
    await stop();
    return { left, heldForMs, leaseMs: leaseMsOf(place) };
  }

  it.concurrent.each(Object.entries(KINDS))(
    'I12 I10 %s: the lease ends on time, the release does not throw, nothing is unhandled, and the process ends by itself',
    async (_, start) => {
      const { left, heldForMs, leaseMs } = await goDown(start);
      expect(left).toMatchObject({ code: 0, complaints: '', said: { lost: 'LEASE_LOST' } });
      expect(left.tookMs).toBeLessThan(ENDS_WITHIN_MS);
      expect(heldForMs).toBeLessThan(leaseMs + ENDS_WITHIN_MS);
    },
    LIMIT_MS,
  );
});
