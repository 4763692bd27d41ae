import { isRerunSafeError } from '../../src/core/errors.ts';
import { type Lease, type LeaseOptions, tryAcquire } from '../../src/core/lease.ts';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { leaseRowId, storeLeases } from '../../src/core/store-leases.ts';
import { Belief } from './belief.ts';
import { CANCELLED, Cancel } from './cancel.ts';
import type { Dice } from './dice.ts';
import { judge } from './judge.ts';
import type { Client } from './network.ts';
import { onFastPlatform } from './platform.ts';
import type { Process } from './process.ts';
import { type Scenario, Scene } from './scene.ts';
import type { Tally } from './tally.ts';
import { writeFenced } from './work.ts';
import { asEvent } from './world.ts';

interface Holder {
  readonly name: string;
  readonly process: Process;
  readonly client: Client;
  lease: Lease | undefined;
  over: boolean;
}

interface Seat {
  readonly process: Process;
  readonly client: Client;
  readonly leases: LeaseProvider;
}

const REFUSALS = ['WRITE_UNKNOWN', 'STORE_UNAVAILABLE'] as const;
const NAME = 'nightly';
const ROW = leaseRowId(NAME);

/** A few processes that want one named lease, until the faults stop; then one more. */
export const playLeases: Scenario = (seed, tally, given) => {
  const scene = new Scene(seed, tally, ROW, given);
  const { world, dice, leaseMs, shelf } = scene;
  const renew = dice.pick(['auto', 'none'] as const);
  const minHoldMs = dice.chance(0.3) ? dice.between(1, leaseMs) : 0;
  const slots = dice.chance(0.4);
  const onPassed = dice.pick(['skip', 'run'] as const);
  const breaks = dice.chance(0.15);
  const holders: Holder[] = [];
  scene.addProcesses();

  const seatOf = (process: Process, client: Client): Seat => ({ process, client, leases: storeLeases(client) });

  function begins(holder: Holder, lease: Lease, slot: number | undefined): void {
    holder.lease = lease;
    if (lease.remainingMs() <= 0) scene.fail(`I6 ${holder.name} was handed a lease that is over`);
    for (const other of holders) {
      if (other === holder || other.over || breaks || !scene.clocksAreRight || !shelf.isSinceLoss(other.lease?.fence.owner)) continue;
      if (!shelf.isSinceLoss(lease.fence.owner)) continue;
      if ((other.lease?.remainingMs() ?? 0) > 0) scene.fail(`I6 ${holder.name} holds while ${other.name} does`);
    }
    const claimed = shelf.history.findIndex(({ record }) => record?.owner === lease.fence.owner && record.token === lease.token);
    if (claimed === -1) scene.fail(`I5 ${holder.name} was handed another token than the store has`);
    const done = Math.max(0, ...shelf.history.slice(0, claimed).map(({ record }) => record?.slot ?? 0));
    if (slot !== undefined && onPassed === 'skip' && done >= slot && !scene.losesWrites)
      scene.fail(`${holder.name} was handed slot ${slot} after ${done} was done`);
  }

  /** `own` decides what it does; undefined: it does nothing but take it and give it back. */
  async function hold({ process, client, leases }: Seat, own: Dice | undefined, waitMs: number): Promise<string> {
    const holder: Holder = { name: `holder ${holders.length + 1}`, process, client, lease: undefined, over: false };
    holders.push(holder);
    const cancel = new Cancel(holder.name, process, own, leaseMs * 2);
    const from = shelf.history.length;
    const slot = slots ? (own ?? dice).between(1, 3) : undefined;
    const base: LeaseOptions = { leaseMs, renew, minHoldMs, onPassed, waitMs, label: holder.name, signal: cancel.signal };
    let kind: string;
    try {
      const got = await tryAcquire(leases, NAME, slot === undefined ? base : { ...base, slot }, process);
      kind = got.kind;
      if (got.kind === 'held') {
        const stood = shelf.history.slice(Math.max(0, from - 1)).some(({ record }) => record?.holder !== holder.name);
        // Its own release may have been lost.
        if (!stood && !scene.losesWrites) scene.fail(`I7 ${holder.name} was told "held" because of itself`);
      }
      if (got.kind === 'acquired') {
        begins(holder, got.lease, slot);
        await use(holder, got.lease, own);
      }
    } catch (thrown) {
      const code = REFUSALS.find((known) => isRerunSafeError(thrown, known));
      kind = code ?? 'cancelled';
      if (code === undefined && thrown !== CANCELLED) scene.fail(`${holder.name} threw ${String(thrown)} ${(thrown as Error)?.stack}`);
      const standing = shelf.standing?.record;
      if (code === 'STORE_UNAVAILABLE' && standing?.holder === holder.name && standing.state === 'running' && !scene.losesWrites)
        scene.fail(`I8 ${holder.name} was told that nothing was changed, while its lease stands`);
    }
    tally.saw(kind);
    world.trace.add(kind);
    holder.over = true;
    if (cancel.end() > 0) scene.fail(`I12 ${holder.name} left a listener behind`);
    return kind;
  }

  async function use(holder: Holder, lease: Lease, own: Dice | undefined): Promise<void> {
    const { process } = holder;
    const belief = new Belief(scene, holder.name, lease);
    belief.look();
    if (own?.chance(0.8)) await world.sleep(own.between(0, own.chance(0.3) ? leaseMs * 2 : leaseMs / 2), process);
    belief.look();
    if (lease.signal.aborted) tally.saw('lost while held');
    if (own?.chance(0.3)) await writeFenced(holder.name, scene, holder.client, lease.fence, own, holder.process);
    if (own?.chance(0.2)) {
      const renewal = lease.renew().then(
        () => tally.saw('renewed by hand'),
        (error) => {
          if (!isRerunSafeError(error)) scene.fail(`${holder.name}: renew threw ${String(error)}`);
        },
      );
      if (own.chance(0.5)) await renewal;
      belief.look();
    }
    holder.over = true;
    const releases = [lease.release({ slotDone: (own ?? dice).chance(0.7) })];
    if (own?.chance(0.2)) releases.push(lease.release());
    const [first, second] = await Promise.all(releases);
    if (second !== undefined && second !== first) scene.fail(`${holder.name} was told ${first} and ${second} of one release`);
    tally.saw(`told ${first}`);
    // What outlives its lease still is its holder's, until somebody else takes it.
    if (own?.chance(0.1)) await writeFenced(holder.name, scene, holder.client, lease.fence, own, holder.process);
  }

  const operator = storeLeases(scene.calmClient('operator').client);
  if (breaks) scene.perhaps('broken', 0.9, () => void operator.break(NAME).catch(() => tally.saw('not broken')));
  const settled = scene.play(
    (process) => {
      const seat = seatOf(process, scene.client(process));
      return (own, waitMs) => hold(seat, own, waitMs).then(() => true);
    },
    4,
    0.1,
  );
  if (!settled) scene.fail(`I10 not settled: ${holders.filter(({ over, process }) => !over && !process.dead).map(({ name }) => name)}`);
  world.run(() => false, scene.weather.longestMs + 30_000);
  const { process: last, client } = scene.calmClient('last');
  let final: string | undefined;
  void hold(seatOf(last, client), undefined, leaseMs + minHoldMs + shelf.options.uncertaintyMs + 3_000).then((kind) => {
    final = kind;
  });
  world.run(() => final !== undefined, leaseMs * 3 + 60_000);
  // Callers whose clocks are an hour ahead keep the lease for so long, where it is by their clocks.
  const waits = !scene.clocksAreRight && shelf.options.uncertaintyMs > 0;
  if (final !== 'acquired' && !(slots && (final === 'slot-done' || final === 'slot-passed')) && !waits)
    scene.fail(`I10 the last holder was told ${final}`);
  if (last.pendingTimers > 0) scene.fail('I12 the last holder left timers behind');
  for (const reason of judge(shelf, { lease: true, clocksAreRight: scene.clocksAreRight })) scene.fail(reason);
  return scene.verdict();
};

/** One seed by itself, for those who only want to know what is wrong. */
export const simulateLeases = (seed: number, tally: Tally): Promise<string[]> =>
  asEvent(() => onFastPlatform(() => [...playLeases(seed, tally).wrong]));
