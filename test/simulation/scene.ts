import type { RecordId, RecordToWrite } from '../../src/core/record.ts';
import type { Dice } from './dice.ts';
import { Weather } from './faults.ts';
import { type Client, clientOf } from './network.ts';
import { type Pace, Process, RIGHT } from './process.ts';
import { Shelf } from './shelf.ts';
import { Tally } from './tally.ts';
import { World } from './world.ts';

/** What every scenario answers. */
export interface Verdict {
  /** Each promise that was broken. */
  readonly wrong: readonly string[];
  readonly hash: string;
  /** The names of all that could have been left out. */
  readonly happened: readonly string[];
}

export interface Given {
  /** Of all that can be left out nothing else happens. */
  readonly keep?: readonly string[];
  /** A store that keeps no condition for completions: to show that it is found, and made smaller. */
  readonly broken?: boolean;
}

export type Scenario = (seed: number, tally: Tally, given?: Given) => Verdict;

/** The mode of a seed. `right`: clocks go as assumed, nothing is lost. */
type Mode = 'right' | 'wrong-clocks' | 'loses-writes';

const UNCERTAINTY_MS = 200;
/** An owner stops so much before the end of its lease, and so far may its clocks be too slow. */
const MOST_DRIFT = 0.01;

/** What both scenarios are made of: a store, processes with clocks of their own, and what befalls them until the faults stop. */
export class Scene {
  readonly world: World;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly mode: Mode;
  readonly leaseMs: number;
  readonly shelf: Shelf;
  readonly weather: Weather;
  readonly faultsEndMs: number;
  readonly processes: Process[] = [];
  readonly wrong = new Set<string>();
  readonly #onRestart: boolean;

  constructor(seed: number, tally: Tally, id: RecordId, { keep, broken = false }: Given = {}) {
    this.world = new World(seed, keep);
    const { dice } = this.world;
    this.dice = dice;
    this.tally = tally;
    this.mode = dice.pick(['right', 'right', 'right', 'right', 'right', 'right', 'wrong-clocks', 'loses-writes']);
    this.leaseMs = dice.pick([100, 300, 1_000, 3_000]);
    const uncertaintyMs = dice.pick([0, 0, 0, UNCERTAINTY_MS]);
    const maxRecordBytes = dice.chance(0.05) ? 1_400 : 1_000_000;
    this.shelf = new Shelf(this.world, id, { uncertaintyMs, maxRecordBytes, asRows: dice.chance(0.03), broken });
    this.faultsEndMs = this.leaseMs * dice.between(2, 6);
    this.weather = new Weather(dice, this.faultsEndMs, this.leaseMs * 3);
    this.#onRestart = dice.chance(0.15);
    tally.saw(`mode ${this.mode}`);
  }

  get clocksAreRight(): boolean {
    return this.mode !== 'wrong-clocks';
  }

  get losesWrites(): boolean {
    return this.mode === 'loses-writes';
  }

  readonly fail = (reason: string): void => {
    this.wrong.add(reason);
  };

  addProcesses(): void {
    const count = this.dice.between(2, 4);
    const drifts = this.dice.chance(0.5);
    for (let n = 1; n <= count; n++) this.processes.push(new Process(this.world, `p${n}`, this.#pace(drifts)));
  }

  #pace(drifts: boolean): Pace {
    const { dice } = this;
    const skew = dice.next() * 2 - 1;
    const drift = dice.next() * 2 - 1;
    const wrongRate = dice.pick([0.5, 0.9, 0.98, 1.02, 1.1, 2]);
    if (!this.clocksAreRight) return { skewMs: skew * 60_000, rate: wrongRate, mostOffMs: Number.POSITIVE_INFINITY };
    // Where the store stamps, what a process takes for its time is only where new tokens begin.
    const mostOffMs = (this.shelf.options.uncertaintyMs || 100) / 2;
    return { skewMs: skew * mostOffMs, rate: drifts ? 1 + drift * MOST_DRIFT : 1, mostOffMs };
  }

  client(process: Process, onSend?: (record: RecordToWrite) => void): Client {
    const { shelf, weather, tally, losesWrites: losesOnFailover } = this;
    return clientOf({ process, shelf, weather, tally, losesOnFailover, ...(onSend === undefined ? {} : { onSend }) });
  }

  /** Of one whose requests meet no faults, and whose clock is right. */
  calmClient(name: string): { readonly process: Process; readonly client: Client } {
    const process = new Process(this.world, name, RIGHT);
    return { process, client: clientOf({ process, shelf: this.shelf, weather: undefined, tally: new Tally(), losesOnFailover: this.losesWrites }) };
  }

  /** Once, at some time before the faults stop; or not at all. */
  perhaps(name: string, chance: number, happen: (dice: Dice) => void): void {
    const dice = this.world.dice.fork(name);
    if (!dice.chance(chance)) return;
    this.world.after(dice.between(0, this.faultsEndMs), () => {
      if (!this.world.happenings.allows(name)) return;
      this.world.trace.add(name);
      this.tally.saw(name.replace(/^p\d+ /, ''));
      happen(dice);
    });
  }

  /**
   * Every process wants something a few times, while things happen to it. `seat`: what it does each time, by dice of its own; false: it wants no more.
   * True: all came to an end.
   */
  play(seat: (process: Process) => (own: Dice, waitMs: number, name: string) => Promise<boolean>, mostTries: number, crowded: number): boolean {
    const { dice, leaseMs, world } = this;
    let underWay: { readonly process: Process; done: boolean }[] = [];
    for (const process of this.processes) {
      const act = seat(process);
      for (const thread of dice.chance(crowded) ? ['a', 'b'] : ['a']) {
        const name = `${process.name}${thread}`;
        const entry = { process, done: false };
        underWay.push(entry);
        void this.#again(process, name, dice.fork(name), mostTries, act).then(() => {
          entry.done = true;
        });
      }
    }
    this.#letThingsHappen();
    const isOver = (): boolean => {
      underWay = underWay.filter(({ process, done }) => !done && !process.dead);
      return underWay.length === 0;
    };
    const settled = world.run(isOver, this.faultsEndMs + leaseMs * 60 + 120_000);
    // The last write of a step that nobody awaited is bounded, and may outlive the call.
    world.run(() => false, 1_000);
    for (const { name, dead, pendingTimers } of this.processes)
      if (!dead && settled && pendingTimers > 0) this.fail(`I12 ${name} left ${pendingTimers} timers behind`);
    return settled;
  }

  async #again(
    process: Process,
    name: string,
    dice: Dice,
    mostTries: number,
    act: (own: Dice, waitMs: number, name: string) => Promise<boolean>,
  ): Promise<void> {
    const { leaseMs, world } = this;
    await world.sleep(dice.between(0, leaseMs * 1.5), process);
    for (let tries = dice.between(1, mostTries); tries > 0; tries--) {
      const own = dice.fork(`${tries}`);
      const waitMs = own.chance(0.5) ? 0 : own.between(1, leaseMs * 3);
      const restMs = own.between(0, leaseMs);
      const call = `${name}.${tries}`;
      this.tally.saw('calls');
      if (this.world.happenings.allows(call) && !(await act(own, waitMs, call))) return;
      await world.sleep(restMs, process);
    }
  }

  /** Each kind is on or off for a whole seed, and then befalls each by chance. */
  #letThingsHappen(): void {
    const { dice, leaseMs, shelf, world } = this;
    const [crash, freeze, stall, step] = [0.4, 0.35, 0.35, 0.35].map((on) => (dice.chance(on) ? 0.45 : 0));
    for (const process of this.processes) {
      const { name } = process;
      this.perhaps(`${name} crashed`, crash as number, () => process.die());
      // Of two clocks one may fail at a time.
      const stepsBack = !this.clocksAreRight || dice.chance(0.5);
      if (stepsBack) this.perhaps(`${name} stepped`, step as number, (own) => process.stepWall(own.between(-5_000, 5_000)));
      if (!stepsBack || !this.clocksAreRight) this.perhaps(`${name} frozen`, freeze as number, (own) => process.freeze(own.between(1, leaseMs * 2)));
      this.perhaps(`${name} stalled`, stall as number, (own) => process.stall(own.between(1, leaseMs * 2)));
    }
    const goDown = (own: Dice): void => {
      shelf.downs += 1;
      shelf.downUntilMs = world.elapsedMs + own.between(1, leaseMs);
    };
    if (this.#onRestart) this.perhaps('restarted', 0.9, goDown);
    if (!this.losesWrites) return;
    this.perhaps('lost its last writes', 0.95, (own) => {
      const writes = own.between(1, 4);
      if (shelf.loseLast(writes)) this.tally.saw('writes were lost');
      goDown(own);
    });
  }

  verdict(): Verdict {
    const { world, shelf, tally, wrong } = this;
    tally.history(shelf);
    for (const { record, atMs } of shelf.history) world.trace.add(`${atMs} ${record?.state} ${record?.token} ${record?.attempt}`);
    return { wrong: [...wrong], hash: world.trace.hash, happened: world.happenings.happened };
  }
}
