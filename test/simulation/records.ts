import { isRerunSafeError } from '../../src/core/errors.ts';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RunResult } from '../../src/core/run-once.ts';
import { type Caller, Callers, KEY, OPERATION, type Plan } from './caller.ts';
import type { Dice } from './dice.ts';
import { judge } from './judge.ts';
import { letPeopleCome } from './people.ts';
import { onFastPlatform } from './platform.ts';
import { type Scenario, Scene } from './scene.ts';
import type { Tally } from './tally.ts';
import { asEvent } from './world.ts';

const ROW = recordId(OPERATION, [], keyParts(KEY));

function planFor({ dice, leaseMs, clocksAreRight, losesWrites }: Scene): Plan {
  // How long an outcome is kept is a matter of clocks.
  const brief = dice.chance(0.1) && clocksAreRight;
  return {
    brief,
    retentionMs: brief ? leaseMs * dice.between(2, 4) : 3_600_000,
    renew: dice.pick(['auto', 'none']),
    // To promise that nothing starts again is refused on a store that can lose what it answered.
    policy: losesWrites ? dice.pick(['retry', 'ask']) : dice.pick(['retry', 'retry', 'block', 'ask']),
    vanishes: dice.chance(0.04),
    person: dice.pick([...PEACE, 'resolves', 'forgets', 'insists']),
    sweeps: dice.chance(0.15),
  };
}

const PEACE = Array<'nobody'>(9).fill('nobody');

/** A few callers with one key over one store, until the faults stop; then one more. */
export const playRecords: Scenario = (seed, tally, given) => {
  const scene = new Scene(seed, tally, ROW, given);
  const { world, leaseMs, shelf } = scene;
  const plan = planFor(scene);
  const callers = new Callers(scene, plan);
  scene.addProcesses();
  if (plan.vanishes) scene.perhaps('vanished', 1, () => void shelf.remove());
  letPeopleCome(scene, plan);

  const settled = scene.play(
    (process) => {
      const seat = callers.seat(process, scene.client(process, callers.onSend(process)));
      return async (own: Dice, waitMs: number) => wantsMore(await callers.call(seat, own, waitMs), own);
    },
    3,
    0.3,
  );
  if (!settled)
    scene.fail(`I10 not settled: ${callers.all.filter(({ end, process }) => end === undefined && !process.dead).map(({ name }) => name)}`);
  // Late copies land; then the key must be free, or have its outcome, within a lease.
  world.run(() => false, scene.weather.longestMs + 30_000);
  const { process: last, client } = scene.calmClient('last');
  let final: Caller | undefined;
  void callers.call(callers.seat(last, client), undefined, leaseMs + shelf.options.uncertaintyMs + 3_000).then((caller) => {
    final = caller;
  });
  if (!world.run(() => final !== undefined, leaseMs * 2 + 60_000)) scene.fail('I10 the last call did not end');
  if (last.pendingTimers > 0) scene.fail('I12 the last call left timers behind');
  finalOutcome(scene, plan, final?.end);
  oneOutcome(scene, callers);
  unknownStaysSo(scene, callers);
  for (const reason of judge(shelf, { lease: false, clocksAreRight: scene.clocksAreRight })) scene.fail(reason);
  return scene.verdict();
};

/** Most of those who were told an outcome that stays are content; there are enough others who ask again. */
const wantsMore = ({ end }: Caller, dice: Dice): boolean => end === undefined || !('result' in end) || !isReplay(end.result) || dice.chance(0.3);
const isReplay = (result: RunResult<unknown>): boolean => (result.kind === 'completed' || result.kind === 'failed') && result.replayed;

function finalOutcome(scene: Scene, plan: Plan, ending: Caller['end']): void {
  if (ending === undefined) return;
  const { shelf, clocksAreRight } = scene;
  if ('thrown' in ending) {
    if (!isRerunSafeError(ending.thrown, 'RESULT_NOT_STORED')) scene.fail(`I10 the last call threw ${String(ending.thrown)}`);
    return;
  }
  const { kind } = ending.result;
  // Callers whose clocks are a minute ahead keep the record for so long, where it is by their clocks.
  if (kind === 'in-flight' && (clocksAreRight || shelf.options.uncertaintyMs === 0)) scene.fail('I10 the last call was told "in flight"');
  const standing = shelf.standing?.record;
  const isBegun = Object.values(standing?.steps ?? {}).some((step) => 'begun' in step);
  if (kind === 'blocked' && plan.policy === 'retry' && standing?.blockedWhy === 'unknown' && !isBegun && !plan.sweeps)
    scene.fail('I8 blocked, though unknown is tried again');
}

function oneOutcome({ shelf, fail }: Scene, callers: Callers): void {
  if (!callers.lasting) return;
  const values = new Set<string>();
  for (const { end, process } of callers.all) {
    if (end === undefined || !('result' in end) || process.dead) continue;
    if (end.result.kind === 'completed' && end.result.saved) values.add(JSON.stringify(end.result.value));
    if (end.result.kind === 'failed') values.add(String(end.result.error));
  }
  if (values.size > 1) fail(`I2 callers were told ${[...values].join(' and ')}`);
  if (values.size > 0 && shelf.standing?.record?.state !== 'completed') fail('I3 an outcome was told that the store does not hold');
}

/** Giving a takeover back before anything was begun must not make a failure of an outcome that nobody knows. */
function unknownStaysSo({ shelf, fail }: Scene, callers: Callers): void {
  for (const { record } of shelf.history) {
    if (record?.state !== 'released' || record.word !== undefined) continue;
    const over = shelf.history[shelf.claimOf(record.owner) - 1]?.record;
    const caller = callers.all.find(({ name }) => name === record.holder);
    if (over?.state === 'running' && caller?.works === 0 && caller.asked !== 'not-done')
      fail(`I8 ${caller.name} made "released" of an unknown outcome`);
  }
}

/** One seed by itself, for those who only want to know what is wrong. */
export const simulateRecords = (seed: number, tally: Tally): Promise<string[]> =>
  asEvent(() => onFastPlatform(() => [...playRecords(seed, tally).wrong]));
