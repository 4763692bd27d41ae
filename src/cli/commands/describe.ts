/**
 * `describe`: what a guard does, in words for a runbook. Takes what `run` takes, and touches nothing.
 *
 * @module
 */
import { FOREVER_MS } from '../../core/record.ts';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import type { Out } from '../out.ts';
import { DEFAULT_STORE } from '../places/forms.ts';
import type { LockSpec, OnceSpec, RunSpec } from '../run/spec.ts';

interface Described {
  readonly question: string;
  readonly answer: string;
}

export function describe(spec: RunSpec, shownStore: string, out: Out): number {
  const answers = spec.mode === 'once' ? once(spec, shownStore) : locked(spec, shownStore);
  const all = [...answers, ...both(spec, shownStore)];
  if (out.isJson) out.json({ mode: spec.mode, guard: spec.mode === 'once' ? spec.key : spec.name, store: shownStore, answers: all });
  else for (const { question, answer } of all) out.print(`- **${question}** ${answer}`);
  return EXIT.ok;
}

const duration = (ms: number): string => (ms >= FOREVER_MS ? 'for ever' : `for ${formatDuration(ms)}`);
const code = (text: string): string => `\`${text}\``;

/** The default, and one with a secret, are not repeated. */
const at = ({ store }: RunSpec, shown: string): string => (store === DEFAULT_STORE || store !== shown ? '' : ` --store ${JSON.stringify(store)}`);

function once(spec: OnceSpec, shownStore: string): Described[] {
  const { key, operation, scope } = spec;
  const address = `${JSON.stringify(key)}${operation === 'script' ? '' : ` --operation ${JSON.stringify(operation)}`}${scope === undefined ? '' : ` --scope ${JSON.stringify(scope)}`}${at(spec, shownStore)}`;
  return [
    {
      question: 'What is it?',
      answer: `${code(spec.child.command)} runs once for the key ${code(key)} of ${code(operation)}${scope === undefined ? '' : `, for ${code(scope)}`}.`,
    },
    { question: 'Is it safe to start it again?', answer: again(spec) },
    { question: 'What must be the same under one key?', answer: sameUnder(spec) },
    { question: 'It failed (an exit code other than 0). And now?', answer: FAILED[spec.onFailure] },
    { question: 'Nobody knows how it ended (killed, crash, lost lease). And now?', answer: UNKNOWN[spec.onUnknown] },
    { question: 'How long is it remembered that it is done?', answer: `${sentenceStart(duration(spec.ttlMs))}.` },
    {
      question: 'How do I look at it, and say what became of it?',
      answer: `${code(`rerunsafe status ${address}`)}; ${code(`rerunsafe resolve ${address} --as done`)} or ${code('--as not-done')}; ${code(`rerunsafe forget ${address}`)} lets it run again.`,
    },
    {
      question: 'The store cannot be reached. And now?',
      answer: spec.storeDown === 'run' ? 'It runs **unguarded**: it may run twice.' : `Nothing is run; exit code ${EXIT.storeDown}.`,
    },
    { question: 'How often is it tried?', answer: `At most ${spec.maxAttempts} times, then it is blocked.` },
  ];
}

function again({ creates, verify, doneExit, busyExit }: OnceSpec): string {
  const believed = [...creates.map((path) => `${code(path)} exists`), ...verify.map((command) => `${code(command)} succeeds`)];
  const unless = believed.length === 0 ? '' : `, as long as ${believed.join(' and ')}; otherwise it runs again`;
  return `Yes. Where it is done it is not run again${unless} (exit code ${doneExit}); while somebody else is running it, it is not started (exit code ${busyExit}).`;
}

function sameUnder({ fingerprint: { args, env, files, values }, onMismatch }: OnceSpec): string {
  const parts = [
    ...(args ? ['the command and its arguments'] : []),
    ...env.map((name) => `the variable ${code(name)}`),
    ...files.map((glob) => `the content of ${code(glob)}`),
    ...(values.length > 0 ? [`${values.length} value(s)`] : []),
  ];
  if (parts.length === 0) return 'Nothing: the key alone decides.';
  const otherwise = onMismatch === 'rerun' ? 'Otherwise it runs again.' : `Otherwise it is refused (exit code ${EXIT.mismatch}).`;
  return `${sentenceStart(parts.join(', '))}. ${otherwise}`;
}

const FAILED = {
  retry: 'It may be started again.',
  block: `It is blocked (exit code ${EXIT.blocked}) until a person resolves or forgets it.`,
} as const;
const UNKNOWN = {
  block: `It is blocked (exit code ${EXIT.blocked}) until a person has looked what it did, and resolves or forgets it.`,
  retry: 'It is run again: the command must be safe to run again after any part of it.',
} as const;

function locked(spec: LockSpec, shownStore: string): Described[] {
  const { name, slot, doneExit, busyExit, minHoldMs, onPassed } = spec;
  const passed = onPassed === 'run' ? 'it runs all the same' : `it is not run (exit code ${EXIT.blocked})`;
  return [
    {
      question: 'What is it?',
      answer: `${code(spec.child.command)} runs under the lock ${code(name)}: one at a time${slot === undefined ? '' : `, and once for each tick of ${code(slot)}`}.`,
    },
    {
      question: 'Is it safe to start it again?',
      answer: `While somebody holds the lock it is not started (exit code ${busyExit}). ${slot === undefined ? 'Nothing is remembered: afterwards it runs again.' : `Once its slot is done it is not run again (exit code ${doneExit}).`}`,
    },
    ...(slot === undefined
      ? []
      : [{ question: 'It failed, or its holder died. And now?', answer: 'Its slot stays open: the next start within the slot runs it again.' }]),
    ...(slot === undefined ? [] : [{ question: 'A later slot is done already. And now?', answer: `${sentenceStart(passed)}.` }]),
    ...(minHoldMs === 0 ? [] : [{ question: 'How soon can it start again?', answer: `Not before ${formatDuration(minHoldMs)} after it began.` }]),
    {
      question: 'How do I see who holds it, and free it?',
      answer: `${code(`rerunsafe status --lock ${JSON.stringify(name)}${at(spec, shownStore)}`)}; ${code(`rerunsafe unlock ${JSON.stringify(name)}${at(spec, shownStore)} --token N`)}.`,
    },
  ];
}

function both({ child, leaseMs, waitMs }: RunSpec, shownStore: string): Described[] {
  const lost =
    child.onLostLease === 'kill' ? 'The command is stopped before the lease is over' : '**The command goes on**, with a warning: two may run at once';
  return [
    { question: 'Its machine dies. When is the key free again?', answer: `After ${formatDuration(leaseMs)} at most.` },
    { question: 'The lease is lost. And now?', answer: `${lost} (exit code ${EXIT.guard}).` },
    ...(waitMs > 0 ? [{ question: 'Does it wait for others?', answer: `Up to ${formatDuration(waitMs)}.` }] : []),
    ...(child.timeoutMs === undefined
      ? []
      : [
          {
            question: 'How long may it take?',
            answer: `${sentenceStart(formatDuration(child.timeoutMs))}, then it is stopped (exit code ${EXIT.timeout}); what it did is then unknown.`,
          },
        ]),
    { question: 'Where is it remembered?', answer: code(shownStore) },
  ];
}

const sentenceStart = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
