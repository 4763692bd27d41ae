import { getEventListeners } from 'node:events';
import { isPermanentError, isRerunSafeError, NotDoneError } from '../../src/core/errors.ts';
import { type GuardOptions, guardFrom, type UnknownAnswer } from '../../src/core/guard.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import type { RecordToWrite } from '../../src/core/record.ts';
import type { Run } from '../../src/core/run.ts';
import { type RunResult, runGuarded } from '../../src/core/run-once.ts';
import { judge } from './history.ts';
import { Shop, type Weather } from './shop.ts';
import type { Tally } from './tally.ts';
import { Mine, randomWork } from './work.ts';
import { Process, World } from './world.ts';

/** One call and what became of it. */
interface Caller {
  readonly name: string;
  readonly process: Process;
  readonly startedAtMs: number;
  run?: Run;
  asked?: unknown;
  works: number;
  workOver: boolean;
  /** The work ended after its lease was over. */
  late?: boolean;
  end?: { readonly result: RunResult<unknown> } | { readonly thrown: unknown };
  endedAtMs?: number;
}

/** What one seed chose for all its callers. */
interface Plan {
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly renew: 'auto' | 'none';
  readonly policy: 'retry' | 'block' | 'ask';
  readonly vanishes: boolean;
}

const REFUSALS = ['LEASE_LOST', 'WRITE_UNKNOWN', 'STORE_UNAVAILABLE', 'RESULT_NOT_STORED', 'DUPLICATE_STEP'] as const;
const CANCELLED = new Error('cancelled by the caller');

/** A few callers with one key over one store, until the faults stop; then one more. Says every promise that was broken. */
export async function simulateRecords(seed: number, tally: Tally): Promise<string[]> {
  const world = new World(seed);
  const { dice } = world;
  const plan: Plan = {
    leaseMs: dice.pick([100, 300, 1_000, 3_000]),
    retentionMs: 0,
    renew: dice.pick(['auto', 'none']),
    policy: dice.pick(['retry', 'retry', 'block', 'ask']),
    vanishes: dice.chance(0.04),
  };
  const brief = dice.chance(0.1);
  Object.assign(plan, { retentionMs: brief ? plan.leaseMs * dice.between(2, 4) : 3_600_000 });
  const shop = new Shop(world, dice.pick([0, 0, 0, 200]), dice.chance(0.05) ? 1_400 : 1_000_000);
  const faultsEndMs = plan.leaseMs * dice.between(2, 6);
  const weather: Weather = { rate: dice.pick([0, 0.1, 0.3, 0.6]), untilMs: faultsEndMs, longestMs: plan.leaseMs * 3 };
  const callers: Caller[] = [];
  const wrong: string[] = [];
  const processes = Array.from({ length: dice.between(2, 4) }, (_, n) => {
    const skewMs = shop.uncertaintyMs === 0 ? 0 : dice.between(-shop.uncertaintyMs / 2, shop.uncertaintyMs / 2);
    return new Process(world, `p${n + 1}`, skewMs);
  });
  const stores = new Map(processes.map((process) => [process, shop.client(process, () => weather, lateWrites(process))]));

  function lateWrites(process: Process) {
    return (record: RecordToWrite): void => {
      const own = callers.find((caller) => caller.process === process && caller.run?.fence?.owner === record.owner);
      if (record.state === 'completed' || record.state === 'blocked' || own?.run?.remainingMs() !== 0) return;
      if (record.state === 'released' || record.leaseMs === 0) {
        if (own.late) wrong.push(`I6 ${own.name} declared a failure after its lease was over`);
      } else wrong.push(`I4 ${own.name} sent a renewal or a step after its lease was over`);
    };
  }

  function newCaller(process: Process): Caller {
    const caller: Caller = { name: `call ${callers.length + 1}`, process, startedAtMs: world.elapsedMs, works: 0, workOver: false };
    callers.push(caller);
    return caller;
  }

  const atWork = (caller: Caller): boolean => caller.run !== undefined && !caller.workOver;

  function begins(caller: Caller, run: Run): void {
    if (atWork(caller) && caller.run !== run) wrong.push(`${caller.name} works twice at once`);
    caller.run = run;
    caller.workOver = false;
    if (run.remainingMs() <= 0) wrong.push(`I6 ${caller.name} starts on a lease that is over`);
    // Where the row vanished, nothing stands between two claims.
    if (plan.vanishes) return;
    for (const other of callers) {
      if (other !== caller && atWork(other) && (other.run?.remainingMs() ?? 0) > 0)
        wrong.push(`I6 ${caller.name} starts while ${other.name} holds the lease`);
    }
  }

  async function work(caller: Caller, run: Run, store: RecordStore, wild: boolean): Promise<unknown> {
    begins(caller, run);
    caller.works += 1;
    if (plan.policy !== 'retry' && afterUnknown(run) && caller.asked !== 'not-done')
      wrong.push(`I8 ${caller.name} runs after an unknown outcome without asking`);
    try {
      if (!wild) return `${caller.name}/${caller.works}`;
      return await randomWork({
        process: caller.process,
        name: `${caller.name}/${caller.works}`,
        run,
        store,
        shop,
        leaseMs: plan.leaseMs,
        lasting: !plan.vanishes && !brief,
        tally,
        wrong,
      });
    } finally {
      caller.workOver = true;
      caller.late = run.remainingMs() === 0;
    }
  }

  /** Whether this attempt was claimed over one that had lapsed. */
  function afterUnknown(run: Run): boolean {
    const index = shop.history.findIndex(({ record }) => record?.owner === run.fence?.owner);
    const over = shop.history[index - 1]?.record;
    return index > 0 && over?.state === 'running';
  }

  async function ask(caller: Caller, run: Run, wild: boolean): Promise<UnknownAnswer<unknown>> {
    begins(caller, run);
    tally.saw('asked');
    if (wild && dice.chance(0.5)) await world.sleep(dice.between(0, plan.leaseMs * 1.5), caller.process);
    caller.workOver = true;
    if (wild && dice.chance(0.15)) throw new Mine('the far side does not answer');
    caller.asked = wild ? dice.pick(['not-done', 'not-done', 'done', 'block']) : 'not-done';
    return caller.asked === 'done' ? { done: `${caller.name}/found` } : (caller.asked as 'not-done' | 'block');
  }

  async function call(process: Process, wild: boolean, waitMs: number): Promise<Caller> {
    const caller = newCaller(process);
    const store = stores.get(process) as RecordStore;
    const cancel = new AbortController();
    let stop = (): void => {};
    if (wild && dice.chance(0.15)) stop = world.after(dice.between(0, plan.leaseMs * 2), () => cancel.abort(CANCELLED), process);
    const options: GuardOptions = {
      store,
      operation: 'simulated',
      leaseMs: plan.leaseMs,
      retentionMs: plan.retentionMs,
      renew: plan.renew,
      onInFlight: { waitMs },
      onUnknown: plan.policy === 'ask' ? (run) => ask(caller, run, wild) : plan.policy,
      signal: cancel.signal,
    };
    try {
      const result = await runGuarded(
        guardFrom('simulation', options),
        { key: 'k', holder: caller.name },
        (run) => work(caller, run, store, wild),
        process,
      );
      caller.end = { result };
    } catch (thrown) {
      caller.end = { thrown };
    }
    caller.workOver = true;
    caller.endedAtMs = world.elapsedMs;
    stop();
    if (getEventListeners(cancel.signal, 'abort').length > 0) wrong.push(`I12 ${caller.name} left a listener behind`);
    inspect(caller);
    return caller;
  }

  /** Records that stood at some time during the call. */
  function stoodDuring(caller: Caller): RecordToWrite[] {
    const { history } = shop;
    const later = history.findIndex(({ atMs }) => atMs >= caller.startedAtMs);
    return history.slice(later === -1 ? -1 : Math.max(0, later - 1)).flatMap(({ record }) => (record === undefined ? [] : [record]));
  }

  function inspect(caller: Caller): void {
    const { end, name } = caller;
    if (end === undefined) return;
    if ('thrown' in end) {
      const { thrown } = end;
      const code = REFUSALS.find((known) => isRerunSafeError(thrown, known));
      tally.saw(code ?? (thrown instanceof Mine || thrown instanceof NotDoneError || isPermanentError(thrown) ? 'threw' : 'cancelled'));
      if (code === undefined && thrown !== CANCELLED && !(thrown instanceof Mine) && !(thrown instanceof NotDoneError) && !isPermanentError(thrown))
        wrong.push(`${name} threw ${String(thrown)} ${(thrown as Error)?.stack}`);
      if (code === 'LEASE_LOST' && String(thrown).includes('took it over') && caller.asked !== 'block' && !plan.vanishes) {
        const claimed = shop.history.findIndex(({ record }) => record?.owner === caller.run?.fence?.owner);
        if (shop.history.slice(claimed).every(({ record }) => record?.owner === caller.run?.fence?.owner))
          wrong.push(`I7 ${name} was told that somebody else took over; nobody had`);
      }
      if (String(thrown).includes('did not send')) wrong.push(`${name} threw ${String(thrown)}`);
      const standing = shop.standing?.record;
      if (
        code === 'STORE_UNAVAILABLE' &&
        caller.works === 0 &&
        caller.asked === undefined &&
        standing?.holder === name &&
        standing.state === 'running' &&
        standing.leaseMs > 0
      )
        wrong.push(`I8 ${name} was told that nothing was changed, while its claim stands`);
      return;
    }
    const { result } = end;
    tally.saw(result.kind === 'completed' ? (result.replayed ? 'replayed' : result.saved ? 'completed' : 'saved: false') : result.kind);
    if (result.kind === 'in-flight' && !stoodDuring(caller).some((record) => record.holder !== name))
      wrong.push(`I7 ${name} was told "in flight" because of itself`);
    if (result.kind === 'blocked' && !stoodDuring(caller).some((record) => record.state === 'blocked'))
      wrong.push(`I8 ${name} was told "blocked"; nothing was`);
    if (result.kind === 'completed' && result.replayed && caller.works > 0) tally.saw('adopted');
  }

  const alive: { process: Process; done: boolean }[] = [];
  for (const process of processes) {
    const threads = dice.chance(0.3) ? 2 : 1;
    for (let thread = 0; thread < threads; thread++) {
      const entry = { process, done: false };
      alive.push(entry);
      const run = async (): Promise<void> => {
        await world.sleep(dice.between(0, plan.leaseMs * 1.5), process);
        for (let tries = dice.between(1, 3); tries > 0; tries--) {
          await call(process, true, dice.chance(0.5) ? 0 : dice.between(1, plan.leaseMs * 3));
          await world.sleep(dice.between(0, plan.leaseMs), process);
        }
      };
      void run().then(() => {
        entry.done = true;
      });
    }
    const chaos = (chance: number, happen: () => void): void => {
      if (dice.chance(chance)) world.after(dice.between(0, faultsEndMs), happen, undefined);
    };
    chaos(0.2, () => process.die(tally));
    // Of two clocks one may fail at a time.
    if (dice.chance(0.5)) chaos(0.3, () => process.freeze(dice.between(1, plan.leaseMs * 2), tally));
    else chaos(0.3, () => process.stepWall(dice.between(-5_000, 5_000)));
    chaos(0.15, () => process.stall(dice.between(1, plan.leaseMs * 2), tally));
  }
  if (plan.vanishes) world.after(dice.between(0, faultsEndMs), () => void shop.vanish().then(() => tally.saw('vanished')), undefined);

  const settled = await world.run(() => alive.every(({ process, done }) => done || process.dead), faultsEndMs + plan.leaseMs * 60 + 120_000);
  if (!settled) wrong.push(`I10 not settled: ${callers.filter(({ end, process }) => end === undefined && !process.dead).map(({ name }) => name)}`);
  // The last write of a step that nobody awaited is bounded, and may outlive the call.
  await world.run(() => false, 1_000);
  for (const process of processes)
    if (!process.dead && settled && world.pendingOf(process) > 0) wrong.push(`I12 ${process.name} left ${world.pendingOf(process)} timers behind`);
  // Late copies land; then the key must be free, or have its outcome, within a lease.
  await world.run(() => false, weather.longestMs + 30_000);
  const last = new Process(world, 'last', 0);
  stores.set(
    last,
    shop.client(last, () => ({ ...weather, rate: 0 })),
  );
  let final: Caller | undefined;
  void call(last, false, plan.leaseMs + shop.uncertaintyMs + 3_000).then((caller) => {
    final = caller;
  });
  if (!(await world.run(() => final !== undefined, plan.leaseMs * 2 + 60_000))) wrong.push('I10 the last call did not end');
  if (world.pendingOf(last) > 0) wrong.push('I12 the last call left timers behind');
  outcomes();
  unknownStaysSo();
  wrong.push(...judge(shop.history, { lease: false }));
  tally.history(shop);
  return [...new Set(wrong)];

  /** Giving a takeover back before anything was begun must not make a failure of an outcome that nobody knows. */
  function unknownStaysSo(): void {
    for (const { record } of shop.history) {
      if (record?.state !== 'released') continue;
      const index = shop.history.findIndex((accepted) => accepted.record?.owner === record.owner);
      const over = shop.history[index - 1]?.record;
      const caller = callers.find(({ name }) => name === record.holder);
      if (over?.state === 'running' && caller?.works === 0 && caller.asked !== 'not-done')
        wrong.push(`I8 ${caller.name} made "released" of an unknown outcome`);
    }
  }

  function outcomes(): void {
    const ending = final?.end;
    if (ending === undefined) return;
    if ('thrown' in ending && !isRerunSafeError(ending.thrown, 'RESULT_NOT_STORED')) wrong.push(`I10 the last call threw ${String(ending.thrown)}`);
    if ('result' in ending && ending.result.kind === 'in-flight') wrong.push('I10 the last call was told "in flight"');
    if ('result' in ending && ending.result.kind === 'blocked' && plan.policy === 'retry') wrong.push('I8 blocked, though unknown is tried again');
    if (plan.vanishes || brief) return;
    const told = callers.flatMap(({ end, name, process }) =>
      end !== undefined && 'result' in end && !process.dead ? [{ name, result: end.result }] : [],
    );
    const values = new Set(told.flatMap(({ result }) => (result.kind === 'completed' && result.saved ? [JSON.stringify(result.value)] : [])));
    const errors = new Set(told.flatMap(({ result }) => (result.kind === 'failed' ? [String(result.error)] : [])));
    if (values.size + errors.size > 1) wrong.push(`I2 callers were told ${[...values, ...errors].join(' and ')}`);
    if (values.size + errors.size > 0 && shop.standing?.record?.state !== 'completed')
      wrong.push('I3 an outcome was told that the store does not hold');
  }
}
