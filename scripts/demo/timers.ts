/**
 * Scenes 5 and 6: the nightly job, started twice, and paused past its lease.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { startFaultProxy } from '../../test/support/proxy.ts';
import type { Report } from '../support/report.ts';
import { azureTable } from '../support/sample-storage.ts';
import type { Failure, WorkerProcess } from './calls.ts';
import { JOB_LEASE_MS, type Stage } from './stage.ts';

const DAY_MS = 86_400_000;
/** How long the late write of the paused holder is on its way: longer than a takeover takes. */
const ON_ITS_WAY_MS = JOB_LEASE_MS + 6_000;

const night = (daysAgo: number): number => new Date().setUTCHours(2, 0, 0, 0) - daysAgo * DAY_MS;
const run = (worker: WorkerProcess, slotMs: number): Promise<string> =>
  worker.call('timer', { name: 'nightly', slotMs }).then(
    () => 'ended well',
    (error: Error) => (error.cause as Failure | undefined)?.code ?? error.message,
  );
const count = (worker: WorkerProcess, line: string): number => worker.logs.filter((logged) => logged.includes(line)).length;

export async function twoTimers(report: Report, { azurite, provider }: Stage, a: WorkerProcess, b: WorkerProcess): Promise<void> {
  await report.scene('Two instances whose timers fire for the same night', async (expect) => {
    const slotMs = night(3);
    const before = provider.statements();
    const held = provider.holdNext('statement');
    const runs = [run(a, slotMs), run(b, slotMs)];
    await held.arrived;
    // One is at work and waits for the provider: the other must have ended by itself.
    await Promise.race(runs);
    held.release();
    expect('both instances', (await Promise.all(runs)).join(', '), 'ended well, ended well');
    expect('ran', count(a, 'reported') + count(b, 'reported'), 1);
    expect('skipped, somebody else was at it', count(a, 'skipped, somebody else') + count(b, 'skipped, somebody else'), 1);
    expect('a third, later, for the same night', await run(a, slotMs), 'ended well');
    expect('skipped, the night was done', count(a, 'skipped, this slot'), 1);
    expect('statements asked of the provider', provider.statements() - before, 1);
    expect('report rows', (await reports(azurite.connectionString, slotMs)).length, 1);
  });
}

export async function paused(report: Report, stage: Stage, b: WorkerProcess): Promise<void> {
  await report.scene(`A holder paused past its lease (${JOB_LEASE_MS / 1000} s), with a write on its way`, async (expect) => {
    const { azurite } = stage;
    const proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.tableUrl).port) });
    stage.defer(() => proxy.stop());
    const slow = await stage.azureProcess(azurite.connectionString.replace(azurite.tableUrl, azurite.tableUrl.replace(/:\d+\//, `:${proxy.port}/`)));
    const slotMs = night(2);
    const late = proxy.inject({
      match: ({ method, path }) => (method === 'PATCH' || method === 'PUT' || method === 'MERGE' ? path.includes('/reports(') : false),
      action: { delayMs: ON_ITS_WAY_MS, at: 'request' },
    });
    const startedMs = performance.now();
    const slowRun = run(slow, slotMs);
    const onItsWay = await Promise.race([late.fired, slowRun.then((ended) => Promise.reject(new Error(`the holder ended early: ${ended}`)))]);
    slow.pause();

    const before = count(b, 'reported');
    while (count(b, 'reported') === before && performance.now() - startedMs < ON_ITS_WAY_MS) {
      await run(b, slotMs);
      await pause(250);
    }
    expect('another took over, after the lease', count(b, 'reported') - before, 1);
    expect('not before its end', performance.now() - startedMs >= JOB_LEASE_MS, true);
    const [reported] = await reports(azurite.connectionString, slotMs);

    slow.resume();
    expect('the paused one, as it goes on', await slowRun, 'STALE_TOKEN');
    expect('it was told that its lease is lost', count(slow, 'the lease is lost'), 1);
    for (const endsAtMs = performance.now() + ON_ITS_WAY_MS; onItsWay.status === undefined && performance.now() < endsAtMs; ) await pause(100);
    expect('its write, when it arrived', onItsWay.status, 412);
    expect('the report is as the new holder left it', (await reports(azurite.connectionString, slotMs)).join() === (reported ?? 'none'), true);
  });
}

/** The ETags of a night's reports. */
async function reports(connectionString: string, slotMs: number): Promise<string[]> {
  const etags: string[] = [];
  const filter = `RowKey eq '${new Date(slotMs).toISOString().slice(0, 10)}'`;
  for await (const { etag } of azureTable(connectionString, 'reports').listEntities({ queryOptions: { filter } })) etags.push(etag);
  return etags;
}
