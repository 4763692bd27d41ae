/**
 * A person's word, said in a form: on condition that what they were shown still stands.
 *
 * @module
 */
import { type Answer, orUsage, wordOf } from '../commands/answer.ts';
import { type FoundRun, findRun } from '../commands/find-run.ts';
import { ABSENT, forgetFound } from '../commands/forget.ts';
import { harmless } from '../commands/harmless.ts';
import { isCommands, parsed, resolveFound } from '../commands/resolve.ts';
import { unlocked } from '../commands/unlock.ts';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';
import type { Entered } from './forms.ts';
import type { Desk } from './record-page.ts';
import { seenMark } from './secret.ts';

/** A line for whoever keeps the log: a lock keeps no words, and a record only the last one. */
export interface Logged {
  readonly did: string;
  readonly to: string;
  readonly by: string;
  readonly why: string;
  readonly result: string;
}

const CHANGED_SINCE: Answer = {
  exitCode: EXIT.busy,
  result: 'changed',
  sentence:
    'It has changed since the page was made that you said this on, and nothing was done. This is how it stands now: look again, and say what is to become of it.',
};

/** @throws UsageError for what is missing or wrong in the form; RerunSafeError as the commands */
export async function sayOfRecord(
  { place }: Desk,
  id: string,
  verb: 'resolve' | 'forget',
  form: Entered,
): Promise<Answer & { readonly logged: Logged }> {
  const word = wordIn(form);
  const found = await findRun(place, { kind: 'id', id });
  const answer = await answered(found, verb, form, word);
  const did = verb === 'forget' ? 'forget' : `resolve as ${form.as}`;
  return { ...answer, logged: { did, to: id, by: word.by, why: word.why, result: answer.result } };
}

async function answered(found: FoundRun, verb: 'resolve' | 'forget', form: Entered, word: ReturnType<typeof wordIn>): Promise<Answer> {
  if (found.stored === undefined) return ABSENT;
  // What is seen here is handed on: core writes over this state and no other.
  if (form.seen !== seenMark(found.stored)) return CHANGED_SINCE;
  if (verb === 'forget') return orUsage(() => forgetFound(found, word));
  const { as, value = '' } = form;
  if (as !== 'done' && as !== 'not-done') throw new UsageError('Say whether it is done or not.');
  if (as === 'not-done' || isCommands(found.stored.record)) return resolveFound(found, { as, word });
  if (value.trim() === '') throw new UsageError('Its callers get what the work would have returned: say it, as JSON (null for nothing).');
  return resolveFound(found, { as, word, given: parsed(value, as) });
}

export async function sayOfLock({ place }: Desk, form: Entered): Promise<Answer & { readonly logged: Logged }> {
  const word = wordIn(form);
  const { name = '' } = form;
  const token = /^\d{1,16}$/.test(form.token ?? '') ? Number(form.token) : Number.NaN;
  if (!Number.isSafeInteger(token)) throw new UsageError('This form does not say whose lock it means: load the page again.');
  const answer = await unlocked({ place, name, token });
  return { ...answer, logged: { did: 'unlock', to: harmless(name), by: word.by, why: word.why, result: answer.result } };
}

function wordIn({ by = '', why = '' }: Entered): ReturnType<typeof wordOf> & { readonly why: string } {
  if (why.trim() === '') throw new UsageError('Say why: it is kept for those who look at it later.');
  if (by.trim() === '') throw new UsageError('Say who you are: it is kept for those who look at it later.');
  return { ...wordOf({ by: by.trim(), why: why.trim() }), why: why.trim() };
}
