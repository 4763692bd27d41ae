/**
 * A guarded command from its options to its exit code.
 *
 * @module
 */
import { fingerprintOf } from '../../core/fingerprint.ts';
import { findCommand } from '../child/find-command.ts';
import { refuseEmpty } from '../conditions.ts';
import { EXIT } from '../exit-codes.ts';
import { runFacts } from '../facts.ts';
import { collectInput } from '../fingerprint.ts';
import { renderKey } from '../key-template.ts';
import { type OpenPlace, openPlace } from '../places/open.ts';
import { slotAt } from '../slot.ts';
import { UsageError } from '../usage-error.ts';
import type { Voice } from '../voice.ts';
import { workingFolder } from '../working-folder.ts';
import { commandOf } from './command.ts';
import { wouldLock, wouldRun } from './dry-run.ts';
import { type Interrupts, interrupts } from './interrupts.ts';
import { runLocked } from './locked.ts';
import { type OnceCall, runOnceCommand } from './once.ts';
import { refusedBy } from './refused.ts';
import { replayTail } from './replay-tail.ts';
import type { Report } from './report.ts';
import type { LockSpec, OnceSpec, RunSpec } from './spec.ts';

/** How far ahead another host's clock, which says which slot it is, may be. */
const CLOCKS_APART_MS = 600_000;

/** What is told once it is over. */
export async function guarded(spec: RunSpec, voice: Voice): Promise<Report> {
  let place: OpenPlace | undefined;
  try {
    const cwd = workingFolder();
    if (spec.mode === 'once') await mustBeAskable(spec);
    const found = await findCommand(spec.child.command);
    if ('exitCode' in found) return { became: 'not-started', exitCode: found.exitCode, message: found.message };
    const nowMs = spec.atMs ?? Date.now();
    const rendered = await renderKey(spec.mode === 'once' ? spec.key : spec.name, {
      cwd,
      env: process.env,
      nowMs,
      timezone: spec.timezone,
    });
    const input = spec.mode === 'once' ? await inputOf(spec, cwd) : undefined;
    place = await openPlace(spec.store, process.env);
    // Until here a signal just ends us. From here on it does not, to the very end: what has become of the command is still to be told.
    const watching = interrupts();
    return spec.mode === 'once'
      ? await once({ spec, key: rendered, input, cwd, place, interrupts: watching }, voice)
      : await locked(spec, rendered, nowMs, place, watching, voice);
  } catch (error) {
    return refusedBy(error);
  } finally {
    await place?.close();
  }
}

function once(call: Pick<OnceCall, 'spec' | 'key' | 'input' | 'cwd' | 'place' | 'interrupts'>, { say }: Voice): Promise<Report> {
  const { spec, key, input, place } = call;
  if (spec.dryRun) return wouldRun(spec, key, input === undefined ? undefined : fingerprintOf(input), place);
  const run = commandOf(spec.child, place, say);
  return runOnceCommand({ ...call, facts: runFacts(), run, say, replay: replayTail });
}

async function locked(spec: LockSpec, name: string, nowMs: number, place: OpenPlace, watching: Interrupts, { say }: Voice): Promise<Report> {
  const slotMs = spec.slot === undefined ? undefined : mayBeDone(await slotAt(spec.slot, nowMs, spec.timezone));
  if (spec.dryRun) return wouldLock(spec, name, slotMs, place);
  const run = commandOf(spec.child, place, say);
  return runLocked({ spec, place, name, facts: runFacts(), interrupts: watching, run, ...(slotMs === undefined ? {} : { slotMs }) });
}

/** Marked as done, it would keep every earlier one from running. */
function mayBeDone(slotMs: number): number {
  if (slotMs <= Date.now() + CLOCKS_APART_MS) return slotMs;
  throw new UsageError(`the slot ${new Date(slotMs).toISOString()} lies in the future: marked as done, it would keep all before it from running`);
}

/** Asked before: afterwards nobody could say whether it is done. */
async function mustBeAskable(spec: OnceSpec): Promise<void> {
  refuseEmpty(spec);
  if (spec.verify.length > 0 && 'exitCode' in (await findCommand('sh')))
    throw new UsageError('--verify needs a shell, and there is no sh in PATH', EXIT.config);
}

async function inputOf({ fingerprint, child }: OnceSpec, cwd: string): Promise<unknown> {
  const { args, ...rest } = fingerprint;
  const { input } = await collectInput({ ...rest, ...(args ? { args: [child.command, ...child.args] } : {}) }, cwd, process.env);
  return input;
}
