import { getEventListeners } from 'node:events';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { type Lease, type LeaseOptions, tryAcquire } from '../../src/core/lease.ts';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { judge } from './history.ts';
import { Shop, type Weather } from './shop.ts';
import type { Tally } from './tally.ts';
import { Process, World } from './world.ts';

interface Holder {
  readonly name: string;
  readonly process: Process;
  lease: Lease | undefined;
  over: boolean;
}

const CANCELLED = new Error('cancelled by the caller');
const REFUSALS = ['WRITE_UNKNOWN', 'STORE_UNAVAILABLE'] as const;
const NAME = 'nightly';

/** A few processes that want one named lease, until the faults stop; then one more. Says every promise that was broken. */
export async function simulateLeases(seed: number, tally: Tally): Promise<string[]> {
  const world = new World(seed);
  const { dice } = world;
  const leaseMs = dice.pick([100, 300, 1_000, 3_000]);
  const renew = dice.pick(['auto', 'none'] as const);
  const minHoldMs = dice.chance(0.3) ? dice.between(1, leaseMs) : 0;
  const slots = dice.chance(0.4);
  const onPassed = dice.pick(['skip', 'run'] as const);
  const breaks = dice.chance(0.15);
  const shop = new Shop(world, dice.pick([0, 0, 0, 200]), 1_000_000);
  const faultsEndMs = leaseMs * dice.between(2, 6);
  const weather: Weather = { rate: dice.pick([0, 0.1, 0.3, 0.6]), untilMs: faultsEndMs, longestMs: leaseMs * 3 };
  const holders: Holder[] = [];
  const wrong: string[] = [];
  const processes = Array.from({ length: dice.between(2, 4) }, (_, n) => {
    const skewMs = shop.uncertaintyMs === 0 ? 0 : dice.between(-shop.uncertaintyMs / 2, shop.uncertaintyMs / 2);
    return new Process(world, `p${n + 1}`, skewMs);
  });
  const providers = new Map(processes.map((process) => [process, storeLeases(shop.client(process, () => weather))]));

  function begins(holder: Holder, lease: Lease, slot: number | undefined): void {
    holder.lease = lease;
    if (lease.remainingMs() <= 0) wrong.push(`I6 ${holder.name} was handed a lease that is over`);
    for (const other of holders) {
      if (other !== holder && !other.over && (other.lease?.remainingMs() ?? 0) > 0 && !breaks)
        wrong.push(`I6 ${holder.name} holds while ${other.name} does`);
    }
    const claimed = shop.history.findIndex(({ record }) => record?.owner === lease.fence.owner && record.token === lease.token);
    const leftMs = shop.leaseLeftMs(lease.fence.owner);
    if (leftMs !== undefined && lease.remainingMs() > leftMs)
      wrong.push(`I6 ${holder.name} believes in ${lease.remainingMs()} ms of a lease with ${leftMs} ms left`);
    const done = Math.max(0, ...shop.history.slice(0, claimed).map(({ record }) => record?.slot ?? 0));
    if (claimed === -1) wrong.push(`I5 ${holder.name} was handed another token than the store has`);
    if (slot !== undefined && onPassed === 'skip' && done >= slot) wrong.push(`${holder.name} was handed slot ${slot} after ${done} was done`);
  }

  async function hold(process: Process, wild: boolean, waitMs: number): Promise<string> {
    const holder: Holder = { name: `holder ${holders.length + 1}`, process, lease: undefined, over: false };
    holders.push(holder);
    const cancel = new AbortController();
    let stop = (): void => {};
    if (wild && dice.chance(0.15)) stop = world.after(dice.between(0, leaseMs * 2), () => cancel.abort(CANCELLED), process);
    const from = shop.history.length;
    const slot = slots ? dice.between(1, 3) : undefined;
    const options: LeaseOptions = {
      leaseMs,
      renew,
      minHoldMs,
      onPassed,
      waitMs,
      label: holder.name,
      signal: cancel.signal,
      ...(slot === undefined ? {} : { slot }),
    };
    let kind: string;
    try {
      const got = await tryAcquire(providers.get(process) as LeaseProvider, NAME, options, process);
      kind = got.kind;
      if (got.kind === 'held') {
        const stood = shop.history.slice(Math.max(0, from - 1)).some(({ record }) => record?.holder !== holder.name);
        if (!stood) wrong.push(`I7 ${holder.name} was told "held" because of itself`);
      }
      if (got.kind === 'acquired') {
        begins(holder, got.lease, slot);
        await use(holder, got.lease, wild);
      }
    } catch (thrown) {
      const code = REFUSALS.find((known) => isRerunSafeError(thrown, known));
      kind = code ?? 'cancelled';
      if (code === undefined && thrown !== CANCELLED) wrong.push(`${holder.name} threw ${String(thrown)} ${(thrown as Error)?.stack}`);
      const standing = shop.standing?.record;
      if (code === 'STORE_UNAVAILABLE' && standing?.holder === holder.name && standing.state === 'running')
        wrong.push(`I8 ${holder.name} was told that nothing was changed, while its lease stands`);
    }
    tally.saw(kind);
    holder.over = true;
    stop();
    if (getEventListeners(cancel.signal, 'abort').length > 0) wrong.push(`I12 ${holder.name} left a listener behind`);
    return kind;
  }

  async function use(holder: Holder, lease: Lease, wild: boolean): Promise<void> {
    if (wild) await world.sleep(dice.between(0, dice.chance(0.3) ? leaseMs * 2 : leaseMs / 2), holder.process);
    const leftMs = shop.leaseLeftMs(lease.fence.owner);
    if (leftMs !== undefined && lease.remainingMs() > leftMs)
      wrong.push(`I6 ${holder.name} goes on believing in ${lease.remainingMs()} ms of a lease with ${leftMs} ms left`);
    if (lease.signal.aborted) tally.saw('lost while held');
    if (wild && dice.chance(0.2)) {
      const renewal = lease.renew().then(
        () => tally.saw('renewed by hand'),
        (error) => {
          if (!isRerunSafeError(error)) wrong.push(`${holder.name}: renew threw ${String(error)}`);
        },
      );
      if (dice.chance(0.5)) await renewal;
    }
    holder.over = true;
    const releases = [lease.release({ slotDone: dice.chance(0.7) })];
    if (dice.chance(0.2)) releases.push(lease.release());
    const [first, second] = await Promise.all(releases);
    if (second !== undefined && second !== first) wrong.push(`${holder.name} was told ${first} and ${second} of one release`);
    tally.saw(`told ${first}`);
  }

  const alive: { process: Process; done: boolean }[] = [];
  for (const process of processes) {
    const entry = { process, done: false };
    alive.push(entry);
    const run = async (): Promise<void> => {
      await world.sleep(dice.between(0, leaseMs * 1.5), process);
      for (let tries = dice.between(1, 4); tries > 0; tries--) {
        await hold(process, true, dice.chance(0.5) ? 0 : dice.between(1, leaseMs * 3));
        await world.sleep(dice.between(0, leaseMs), process);
      }
    };
    void run().then(() => {
      entry.done = true;
    });
    const chaos = (chance: number, happen: () => void): void => {
      if (dice.chance(chance)) world.after(dice.between(0, faultsEndMs), happen, undefined);
    };
    chaos(0.2, () => process.die(tally));
    if (dice.chance(0.5)) chaos(0.3, () => process.freeze(dice.between(1, leaseMs * 2), tally));
    else chaos(0.3, () => process.stepWall(dice.between(-5_000, 5_000)));
    chaos(0.15, () => process.stall(dice.between(1, leaseMs * 2), tally));
  }
  if (breaks) {
    const operator = storeLeases(shop.client(new Process(world, 'operator', 0), () => ({ ...weather, rate: 0 })));
    world.after(dice.between(0, faultsEndMs), () => void operator.break(NAME).then(() => tally.saw('broken')), undefined);
  }
  const settled = await world.run(() => alive.every(({ process, done }) => done || process.dead), faultsEndMs + leaseMs * 60 + 120_000);
  if (!settled) wrong.push(`I10 not settled: ${holders.filter(({ over, process }) => !over && !process.dead).map(({ name }) => name)}`);
  for (const process of processes)
    if (!process.dead && settled && world.pendingOf(process) > 0) wrong.push(`I12 ${process.name} left ${world.pendingOf(process)} timers behind`);
  await world.run(() => false, weather.longestMs + 30_000);
  const last = new Process(world, 'last', 0);
  providers.set(last, storeLeases(shop.client(last, () => ({ ...weather, rate: 0 }))));
  let final: string | undefined;
  void hold(last, false, leaseMs + minHoldMs + shop.uncertaintyMs + 3_000).then((kind) => {
    final = kind;
  });
  await world.run(() => final !== undefined, leaseMs * 3 + 60_000);
  if (final !== 'acquired' && !(slots && (final === 'slot-done' || final === 'slot-passed'))) wrong.push(`I10 the last holder was told ${final}`);
  if (world.pendingOf(last) > 0) wrong.push('I12 the last holder left timers behind');
  wrong.push(...judge(shop.history, { lease: true }));
  tally.history(shop);
  return [...new Set(wrong)];
}
