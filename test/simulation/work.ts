import { NotDoneError, PermanentError, writeUnknown } from '../../src/core/errors.ts';
import type { RecordStore, WriteResult } from '../../src/core/ports.ts';
import type { CommitRequest, Run } from '../../src/core/run.ts';
import type { Shop } from './shop.ts';
import type { Tally } from './tally.ts';
import type { Process } from './world.ts';

/** A failure of the simulated work. */
export class Mine extends Error {}

export interface Job {
  readonly process: Process;
  /** The value it brings, different in every start. */
  readonly name: string;
  readonly run: Run;
  readonly store: RecordStore;
  readonly shop: Shop;
  readonly leaseMs: number;
  /** The record neither expires nor vanishes. */
  readonly lasting: boolean;
  readonly tally: Tally;
  readonly wrong: string[];
}

/** Work that pauses, keeps steps, throws, commits, or returns what cannot be kept. */
export async function randomWork(job: Job): Promise<unknown> {
  const { process, name, run, shop, leaseMs, tally, wrong } = job;
  const { world } = process;
  const { dice } = world;
  const pause = (): Promise<void> => world.sleep(dice.between(0, dice.chance(0.3) ? leaseMs * 2 : leaseMs / 3), process);
  if (dice.chance(0.6)) await pause();
  const leftMs = shop.leaseLeftMs(run.fence?.owner);
  if (leftMs !== undefined && run.remainingMs() > leftMs)
    wrong.push(`I6 ${name} believes in ${run.remainingMs()} ms of a lease with ${leftMs} ms left`);
  if (dice.chance(0.5) && run.signal.aborted) throw run.signal.reason;
  for (let n = 0; dice.chance(0.3) && n < 2; n++) {
    const step = run.step(`s${n}`, async () => {
      stepBegins(job, `s${n}`);
      if (dice.chance(0.5)) await pause();
      return `${name}/s${n}`;
    });
    // A step that nobody awaits races with the end of the work.
    if (dice.chance(0.15)) step.catch(() => {});
    else await step;
  }
  if (dice.chance(0.2)) throw dice.pick([new Mine('mine'), new PermanentError(name), new NotDoneError('not done')]);
  if (dice.chance(0.15)) {
    await run.commit(name, (request) => commit(job, request));
    tally.saw('committed');
    if (dice.chance(0.3)) await pause();
    return name;
  }
  if (dice.chance(0.05)) return 'x'.repeat(1_500) + name;
  if (dice.chance(0.05)) return { name, neverKept: () => name };
  return name;
}

function stepBegins(job: Job, step: string): void {
  const { name, run, shop, wrong } = job;
  if (run.remainingMs() <= 0) wrong.push(`I6 ${name} starts a step on a lease that is over`);
  const standing = shop.standing?.record;
  const claimed = shop.history.findIndex(({ record }) => record?.owner === run.fence?.owner);
  const kept = shop.history.slice(0, claimed).some(({ record }) => record?.steps?.[step] !== undefined);
  if (job.lasting && kept) wrong.push(`I3 ${name} starts a step that an earlier attempt had kept`);
  if (standing?.owner === run.fence?.owner && standing?.steps?.[step] !== undefined) wrong.push(`I3 ${name} starts a step that was kept`);
}

/** As a user's own transaction would: with a time limit of its own. */
function commit({ process, store }: Job, { id, record, version }: CommitRequest): Promise<WriteResult> {
  const cancel = new AbortController();
  const { signal } = cancel;
  let stop = (): void => {};
  const late = new Promise<never>((_, reject) => {
    stop = process.timers.after(300, () => {
      cancel.abort();
      reject(writeUnknown('commit', undefined));
    });
  });
  const written = version === undefined ? store.create(id, record, { signal }) : store.replace(id, record, version, { signal });
  return Promise.race([written, late]).finally(stop);
}
