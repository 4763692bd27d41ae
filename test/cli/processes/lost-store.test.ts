import { afterEach, describe, expect, it } from 'vitest';
import type { FaultProxy } from '../../support/faults.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { processOf, until } from '../child/processes.ts';
import { proxied } from './kills/servers.ts';
import { type PlaceKind, postgreses, redises } from './places.ts';
import { cliStage } from './stage.ts';

const LEASE_MS = 1_500;
const OPTIONS = ['--lease', `${LEASE_MS}ms`, '--kill-after', '300ms', '--on-unknown', 'retry'];

/** The command dies by us. When, ms after `fromMs`. */
const deathAfter = (pid: number, fromMs: number): Promise<number> =>
  until(() => processOf(pid) === undefined && performance.now() - fromMs, 'the command is dead');

describe.runIf((await postgreses()).length > 0)('PostgreSQL that answers no more while a command runs', () => {
  let proxy: FaultProxy;
  const behindProxy: PlaceKind = {
    name: 'PostgreSQL',
    async start() {
      const place = await proxied.postgres();
      proxy = place.proxy;
      return place;
    },
  };
  const stage = cliStage(behindProxy);
  afterEach(() => proxy.clear());
  const through = (): string => stage.place.url.replace(/:\d+\//, `:${proxy.port}/`);
  const isAway = (): void => void proxy.inject({ action: 'stall', times: Number.MAX_SAFE_INTEGER });

  it('I6 the command is dead before its lease ends for others: exit 125; who has waited for that runs after it', async () => {
    const guard = stage.guard({ options: OPTIONS, ticks: true, store: through() });
    const pid = await guard.command();
    const next = stage.guard({ options: [...OPTIONS, '--wait', '20s'], isShort: true }, guard);
    isAway();
    const atMs = performance.now();
    expect(await deathAfter(pid, atMs)).toBeLessThan(LEASE_MS);
    expect((await next.ended).report).toMatchObject({ became: 'succeeded', attempt: 2 });
    proxy.clear();
    expect((await guard.ended).code).toBe(125);
    const seen = guard.seen();
    const began = seen.findIndex(({ what, attempt }) => what === 'in' && attempt === 2);
    expect(seen.slice(began).filter((one) => one.pid === pid)).toEqual([]);
    expect(seen.slice(0, began).some(({ what }) => what === 'tick')).toBe(true);
    expect(await stage.state(guard.key)).toBe('done');
  });

  it('I8 --on-lost-lease warn says so and lets it go on; the store is back, nobody has taken over: it is done', async () => {
    const guard = stage.guard({ options: [...OPTIONS, '--on-lost-lease', 'warn'], ticks: true, store: through(), words: true });
    const pid = await guard.command();
    isAway();
    await until(() => guard.said().includes('the lease is lost. The command goes on'), 'it says so');
    const { length } = guard.seen();
    await until(() => guard.seen().length > length + 5, 'the command goes on');
    expect(processOf(pid)).toBeDefined();
    // A renewal may have landed whose answer was kept back.
    await expect.poll(() => stage.state(guard.key), { timeout: 10_000 }).toBe('lapsed');
    proxy.clear();
    guard.finish();
    expect((await guard.ended).code).toBe(0);
    expect(await stage.state(guard.key)).toBe('done');
  });

  it('I4 --on-lost-lease warn, and somebody has taken over: it goes on to its end, and the newer outcome stands', async () => {
    const guard = stage.guard({ options: [...OPTIONS, '--on-lost-lease', 'warn'], store: through() });
    await guard.command();
    isAway();
    const next = await stage.guard({ options: [...OPTIONS, '--wait', '20s'], isShort: true }, guard).ended;
    expect(next.report).toMatchObject({ became: 'succeeded', attempt: 2 });
    proxy.clear();
    guard.finish();
    // What it had to say of itself is refused; it is told what stands.
    expect(await guard.ended).toMatchObject({ code: 0, report: { became: 'already-done' } });
    expect(guard.seen().filter(({ what, attempt }) => what === 'out' && attempt === 1)).toHaveLength(1);
    const { stdout } = await stage.ask('status', guard.key, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', attempt: 2, token: next.report?.token });
  });
});

describe.runIf((await redises()).length > 0)('Redis that is stopped while a command runs', () => {
  let server: RedisServer;
  const stage = cliStage({
    name: 'Redis',
    async start() {
      server = await startRedis();
      return { url: `${server.url}/0#accept-failover-loss`, env: {}, uncertaintyMs: 0, stop: server.stop };
    },
  });

  it.each(['once', 'lock'] as const)('I6 mode %s: the command is dead before its lease ends for others; the next runs after it', async (mode) => {
    const options = [...OPTIONS.slice(0, mode === 'once' ? undefined : -2), '--mode', mode];
    const guard = stage.guard({ options, ticks: true });
    const pid = await guard.command();
    server.pause();
    const atMs = performance.now();
    expect(await deathAfter(pid, atMs).finally(() => server.resume())).toBeLessThan(LEASE_MS);
    const next = await stage.guard({ options: [...options, '--wait', '20s'], isShort: true }, guard).ended;
    expect(next).toMatchObject({ code: 0, report: { became: 'succeeded' } });
    expect((await guard.ended).code).toBe(125);
    const seen = guard.seen();
    const began = seen.findLastIndex(({ what }) => what === 'in');
    expect(seen.slice(began).filter((one) => one.pid === pid)).toEqual([]);
  });
});
