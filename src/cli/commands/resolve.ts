/**
 * `resolve`: a person says what became of a run, where no attempt can.
 *
 * @module
 */
import { type PersonsAnswer, resolveById } from '../../core/person.ts';
import type { RecordStore } from '../../core/ports.ts';
import type { RecordId, StoredRecord } from '../../core/record.ts';
import { EXIT, EXIT_FAILED } from '../exit-codes.ts';
import { DEFAULT_OPERATION } from '../operation.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { type Answer, orUsage, tell, type WordOptions, wordOf } from './answer.ts';
import { type FoundRun, findRun, type RunAddress } from './find-run.ts';
import { ABSENT, CHANGED, running } from './forget.ts';
import { keptOutcome } from './kept-outcome.ts';
import { type RunState, stateOf } from './standing.ts';

export interface ResolveRequest extends WordOptions {
  readonly place: OpenPlace;
  readonly what: RunAddress;
  readonly as: 'done' | 'not-done';
  /** JSON: what the work would have returned, for `done`. Default: what `rerunsafe run` keeps of a command. */
  readonly value?: string | undefined;
  readonly out: Screen;
}

/**
 * Exit code: 0 it is now as was said, or was so already (`done`: it is done; `not-done`: it failed, and may run again); 1 it is otherwise, and stays so: a
 * run that is known to have ended is not talked round (forget it), nor is one done that failed and may run again; 75 it is running, or was changed while this
 * was said; 3 nothing is kept under that name.
 *
 * @throws UsageError also where what is kept is sealed, or a step would run again; RerunSafeError `STORE_UNAVAILABLE`, `WRITE_UNKNOWN`, …
 */
export async function resolve({ place, what, as, value, out, ...said }: ResolveRequest): Promise<number> {
  const word = wordOf(said);
  const given = value === undefined ? undefined : parsed(value, as);
  const found = await findRun(place, what);
  return tell(out, found.name, found.id, await resolveFound(found, { as, given, word }));
}

export interface Verdict {
  readonly as: 'done' | 'not-done';
  /** What the work would have returned. */
  readonly given?: { readonly value: unknown } | undefined;
  readonly word: ReturnType<typeof wordOf>;
}

/** Of what was found, and of nothing that came since. @throws as {@link resolve} */
export async function resolveFound({ store, id, stored }: FoundRun, { as, given, word }: Verdict): Promise<Answer> {
  if (stored === undefined) return ABSENT;
  const own = { exitCode: 0, resolvedBy: word.by, resolvedAt: new Date(store.clock.nowMs()).toISOString() };
  const answer: PersonsAnswer = as === 'not-done' ? as : { done: given === undefined ? own : given.value };
  const result = await orUsage(() => resolveById(store, id, word, answer, stored));
  switch (result.kind) {
    case 'written': {
      const strange = as === 'done' && given === undefined && !isCommands(stored.record);
      return { ...WRITTEN[as], ...(strange ? { warning: NOT_A_COMMAND } : {}) };
    }
    case 'not-needed':
      return notNeeded(store, id, as);
    case 'running':
      return running(result.retryAfterMs, 'resolve');
    case 'changed':
      return CHANGED;
    case 'absent':
      return ABSENT;
  }
}

const WRITTEN: Readonly<Record<ResolveRequest['as'], Answer>> = {
  done: { exitCode: EXIT.ok, result: 'written', sentence: 'it is done, by your word, and does not run again' },
  'not-done': { exitCode: EXIT.ok, result: 'written', sentence: 'it was not done, by your word; the next run runs it' },
};

const FAILED_FOR_GOOD: Answer = {
  exitCode: EXIT_FAILED,
  result: 'not-needed',
  sentence: 'it failed for good, and that is its outcome; nothing was changed. Forget it, if it is to run again',
};

const NOT_A_COMMAND =
  'this does not look like a run of `rerunsafe run`. Its callers now get what a command leaves, { exitCode: 0, … }: say --value JSON --force to give them what the work would have returned';

export function parsed(json: string, as: ResolveRequest['as']): { readonly value: unknown } {
  if (as === 'not-done') throw new UsageError('--value is what is to be returned by what is done: not with --as not-done');
  try {
    return { value: JSON.parse(json) as unknown };
  } catch (error) {
    throw new UsageError(`--value is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Written by `rerunsafe run`, as far as a record tells. */
export const isCommands = ({ operation, holder = '' }: StoredRecord): boolean => operation === DEFAULT_OPERATION || /^\S+@\S+ pid \d+/.test(holder);

/** Told of what stands there now: it may have come about since the first look. */
async function notNeeded(store: RecordStore, id: RecordId, as: ResolveRequest['as']): Promise<Answer> {
  const stored = await store.read(id);
  const kept = stored?.record.outcome;
  const outcome = kept === undefined ? undefined : await keptOutcome(store, id, kept);
  if (stored?.record.state === 'completed' && outcome?.kind === 'error') return FAILED_FOR_GOOD;
  const state = stateOf(stored, store.clock.uncertaintyMs, outcome);
  if (state !== 'done' && state !== 'unreadable' && state !== 'failed' && state !== 'not-done' && state !== 'forgotten') return CHANGED;
  return stands(state, as, kept !== undefined && 'resolved' in kept);
}

function stands(state: RunState, as: ResolveRequest['as'], isWord: boolean): Answer {
  const told = (exitCode: number, sentence: string): Answer => ({ exitCode, result: 'not-needed', sentence });
  const next = isWord ? 'a person has said so: with --force that is corrected' : 'forget it, if it is to run again';
  switch (state) {
    case 'done':
      return told(as === 'done' ? EXIT.ok : EXIT_FAILED, `it is done already, and nothing was changed; ${next}`);
    case 'unreadable':
      return told(EXIT_FAILED, `it has an outcome that cannot be read here, and nothing was changed; ${next}`);
    default:
      return as === 'not-done'
        ? told(EXIT.ok, 'it may run again anyway; nothing was changed')
        : told(EXIT_FAILED, 'it is known not to be done, and runs again with the next run; nothing was changed');
  }
}
