/**
 * `forget`: as if the run had never been.
 *
 * @module
 */
import { forgetById } from '../../core/person.ts';
import { formatDuration } from '../duration.ts';
import { EXIT, EXIT_UNKNOWN } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { type Answer, orUsage, tell, type WordOptions, wordOf } from './answer.ts';
import { type FoundRun, findRun, type RunAddress } from './find-run.ts';

export interface ForgetRequest extends WordOptions {
  readonly place: OpenPlace;
  readonly what: RunAddress;
  readonly out: Screen;
}

/**
 * Exit code: 0 forgotten; 75 it is running, or was changed while this was said; 3 nothing is kept under that name.
 *
 * @throws UsageError; RerunSafeError `STORE_UNAVAILABLE`, `WRITE_UNKNOWN`, …
 */
export async function forget({ place, what, out, ...said }: ForgetRequest): Promise<number> {
  const word = wordOf(said);
  const found = await findRun(place, what);
  return tell(out, found.name, found.id, await forgetFound(found, word));
}

/** What was found, and nothing that came since. @throws as {@link forget} */
export async function forgetFound({ store, id, stored }: FoundRun, word: ReturnType<typeof wordOf>): Promise<Answer> {
  if (stored === undefined) return ABSENT;
  const result = await orUsage(() => forgetById(store, id, word, stored));
  switch (result.kind) {
    case 'written': {
      const wasRunning = stored.record.state === 'running' && word.force === true;
      const warning = wasRunning ? 'if it was still running, its command is stopped when its guard next renews; until then it goes on' : undefined;
      const answer = { exitCode: EXIT.ok, result: 'forgotten', sentence: 'forgotten; the next run runs it' };
      return warning === undefined ? answer : { ...answer, warning };
    }
    case 'running':
      return running(result.retryAfterMs, 'forget');
    case 'changed':
      return CHANGED;
    case 'absent':
    case 'not-needed':
      return ABSENT;
  }
}

export const ABSENT: Answer = { exitCode: EXIT_UNKNOWN, result: 'absent', sentence: 'nothing is kept under that name; nothing was changed' };

export const CHANGED: Answer = {
  exitCode: EXIT.busy,
  result: 'changed',
  sentence: 'somebody else has written it in this very moment, and that stands: look again (status), and say what is to become of it now',
};

export const running = (retryAfterMs: number, verb: string): Answer => ({
  exitCode: EXIT.busy,
  result: 'running',
  sentence: `it is running (look again in ${formatDuration(retryAfterMs)}); nothing was changed. With --force, ${verb} shuts it out, but its command may go on`,
});
