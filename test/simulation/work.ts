import { isRerunSafeError, NotDoneError, PermanentError, writeUnknown } from '../../src/core/errors.ts';
import type { UnknownAnswer } from '../../src/core/guard.ts';
import type { CallOptions, Fence, WriteResult } from '../../src/core/ports.ts';
import type { CommitRequest, Run } from '../../src/core/run.ts';
import { Belief } from './belief.ts';
import type { Dice } from './dice.ts';
import type { Client } from './network.ts';
import type { Process } from './process.ts';
import type { Scene } from './scene.ts';
import type { Steps } from './steps.ts';

/** A failure of the simulated work. */
export class Mine extends Error {}

export interface Job {
  readonly scene: Scene;
  readonly process: Process;
  readonly client: Client;
  readonly dice: Dice;
  /** The value it brings, different in every start. */
  readonly name: string;
  readonly run: Run;
  readonly steps: Steps;
}

/** Work that pauses, keeps steps, writes under its fence, throws, commits, or returns what cannot be kept. */
export async function randomWork(job: Job): Promise<unknown> {
  const { scene, process, client, dice, name, run, steps } = job;
  const { world, tally, leaseMs } = scene;
  const belief = new Belief(scene, name, run);
  const pause = async (): Promise<void> => {
    await world.sleep(dice.between(0, dice.chance(0.3) ? leaseMs * 2 : leaseMs / 3), process);
    belief.look();
  };
  if (dice.chance(0.6)) await pause();
  belief.look();
  if (dice.chance(0.5) && run.signal.aborted) throw run.signal.reason;
  for (let n = 0; dice.chance(0.3) && n < 2; n++) {
    const { step, value } = beginStep(job, n, pause);
    // A step that nobody awaits races with the end of the work, and nobody is there for its failure.
    if (dice.chance(0.15)) void value;
    else steps.resolved(name, step, await value);
    belief.look();
  }
  if (dice.chance(0.2) && run.fence !== undefined) await writeFenced(name, scene, client, run.fence, dice, process);
  belief.look();
  if (dice.chance(0.2)) throw dice.pick([new Mine('mine'), new PermanentError(name), new NotDoneError('not done')]);
  if (dice.chance(0.15)) {
    await run.commit(name, (request) => commit(job, request));
    tally.saw('committed');
    if (dice.chance(0.3)) await world.sleep(dice.between(0, leaseMs), process);
    return name;
  }
  if (dice.chance(0.05)) return 'x'.repeat(1_500) + name;
  if (dice.chance(0.05)) return { name, neverKept: () => name };
  return name;
}

function beginStep(job: Job, n: number, pause: () => Promise<void>): { readonly step: string; readonly value: Promise<string> } {
  const { scene, dice, name, run, steps } = job;
  // What promises that it never starts twice is refused on a store that can lose the mark.
  const once = dice.chance(0.5) && !scene.losesWrites;
  const step = once ? `once ${n}` : `step ${n}`;
  const doWork = async (): Promise<string> => {
    steps.starts(name, step, run);
    if (once) scene.tally.saw('a step marked');
    if (dice.chance(0.5)) await pause();
    if (dice.chance(0.1)) {
      steps.notDone(step);
      throw new NotDoneError('the step has done nothing');
    }
    if (dice.chance(0.03)) return 'x'.repeat(1_500);
    return `${name}/${step}`;
  };
  const onInterrupted = async (): Promise<UnknownAnswer<string>> => {
    scene.tally.saw('interrupted');
    if (dice.chance(0.3)) await pause();
    if (dice.chance(0.1)) throw new Mine('the far side does not answer');
    const answer = dice.pick(['not-done', 'done', 'block'] as const);
    if (answer === 'not-done') steps.notDone(step);
    return answer === 'done' ? { done: `${name}/${step}` } : answer;
  };
  const asks = once && dice.chance(0.6);
  return { step, value: run.step(step, doWork, { mode: once ? 'atMostOnce' : 'atLeastOnce', ...(asks ? { onInterrupted } : {}) }) };
}

/** As a user's own transaction would: with a time limit of its own. */
const commit = ({ process, client }: Job, { id, record, version }: CommitRequest): Promise<WriteResult> =>
  limited(process, (options) => (version === undefined ? client.create(id, record, options) : client.replace(id, record, version, options)));

async function limited<R>(process: Process, call: (options: CallOptions) => Promise<R>): Promise<R> {
  const cancel = new AbortController();
  let stop = (): void => {};
  const late = new Promise<never>((_, reject) => {
    stop = process.timers.after(300, () => {
      cancel.abort();
      reject(writeUnknown('no answer', undefined));
    });
  });
  try {
    return await Promise.race([call({ signal: cancel.signal }), late]);
  } finally {
    stop();
  }
}

/** Refused only where somebody else has taken it; that what is let through is the last holder's is for the judge to say. */
export async function writeFenced(name: string, scene: Scene, client: Client, fence: Fence, dice: Dice, process: Process): Promise<void> {
  const { shelf, tally } = scene;
  try {
    const by = dice.pick(['row', 'target'] as const);
    await limited(process, (options) => client.fenced(fence, by, options));
    tally.saw('fenced write answered');
  } catch (error) {
    const isWhole = !shelf.history.some(({ how }) => how !== undefined);
    if (isRerunSafeError(error, 'STALE_TOKEN')) {
      tally.saw('STALE_TOKEN');
      if (isWhole && shelf.history.slice(shelf.claimOf(fence.owner)).every(({ record }) => record?.owner === fence.owner))
        scene.fail(`I4 ${name} was refused by its fence; nobody else had taken it`);
    } else if (isRerunSafeError(error, 'STORE_MISCONFIGURED')) {
      if (isWhole) scene.fail(`${name}: ${String(error)}`);
    } else if (!isRerunSafeError(error, 'WRITE_UNKNOWN') && !isRerunSafeError(error, 'STORE_UNAVAILABLE')) {
      scene.fail(`${name}: a fenced write threw ${String(error)}`);
    }
  }
}
