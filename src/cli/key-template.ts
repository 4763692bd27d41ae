/**
 * Keys from templates: `deploy-{git.sha}-{env.STAGE}`.
 *
 * What cannot be filled in is refused. An empty place in a key would make runs one that are not, and the later one would count as done.
 *
 * @module
 */
import { runFacts } from './facts.ts';
import { gitFact } from './git.ts';
import { slotAt, slotText } from './slot.ts';
import { UsageError } from './usage-error.ts';

export interface KeyFacts {
  readonly nowMs: number;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Of cron expressions in slots; see {@link slotAt}. */
  readonly timezone?: string | undefined;
}

/** What may stand in braces, and what it becomes: for `--help` and for refusals. */
export const PLACEHOLDERS: readonly (readonly [form: string, meaning: string])[] = [
  ['{git.sha}', 'the commit that is checked out (changes that are not committed do not show)'],
  ['{git.branch}', 'the branch that is checked out'],
  ['{env.NAME}', 'the environment variable NAME'],
  ['{slot:1h}', 'the hour that is running: its start, in UTC'],
  ['{slot:0 2 * * *}', 'the latest tick of a cron expression, in UTC'],
  ['{date}', 'the day, in UTC'],
  ['{host}', "this machine's name"],
  ['{user}', 'who runs it'],
  ['{{ and }}', 'a brace'],
];

type Fill = (facts: KeyFacts) => string | Promise<string>;

/**
 * The key. Git is asked only where the template asks for it; `{slot:…}` is `2026-10-25T01:00:00Z`, `{date}` is `2026-10-25`.
 *
 * @throws UsageError for a place that is unknown, not closed, or has nothing to be filled with, and for an empty key.
 * @example await renderKey('report-{slot:24h}', facts) // 'report-2026-10-25T00:00:00Z'
 */
export async function renderKey(template: string, facts: KeyFacts): Promise<string> {
  let key = '';
  for (const piece of piecesOf(template)) key += typeof piece === 'string' ? piece : await piece(facts);
  if (key.trim() === '') throw new UsageError('--key is empty');
  mustBeFilledIn(key);
  return key;
}

/** As `migrate-$(git rev-parse HEAD)` is where git fails: one key for every commit, and all but the first would be skipped. */
function mustBeFilledIn(key: string): void {
  if (/[\s:/_-]$/.test(key)) throw new UsageError(`--key "${key}" ends as if a part of it were empty. Fill it in, or end it otherwise`);
  if (key.includes('${')) throw new UsageError(`--key "${key}": a place of another program (\${…}) was not filled in`);
}

/** Read to its end before anything is asked for: a slip at the end costs no git. */
function piecesOf(template: string): readonly (string | Fill)[] {
  const pieces: (string | Fill)[] = [];
  for (let at = 0; at < template.length; ) {
    const rest = template.slice(at);
    const text = /^(?:[^{}]|\{\{|\}\})+/.exec(rest)?.[0] ?? '';
    const place = /^\{([^{}]*)\}/.exec(rest)?.[1];
    if (text !== '') pieces.push(literal(text, template));
    else if (place !== undefined) pieces.push(fillOf(place));
    else if (rest.startsWith('{')) throw refuse(`--key: a brace is opened and not closed in "${template}"`);
    else throw refuse(`--key: a brace is closed that was not opened in "${template}"`);
    at += text === '' ? (place ?? '').length + 2 : text.length;
  }
  return pieces;
}

/** Many template languages double their braces. Taken for plain braces, such a key would be the same for every run, and all but the first be skipped. */
function literal(text: string, template: string): string {
  const doubled = /\{\{\s*((?:git|env)\.\w+|slot:[^{}]+|date|host|user)\s*\}\}/.exec(text)?.[1];
  if (doubled !== undefined) throw new UsageError(`--key: write {${doubled}} with single braces in "${template}"`);
  return text.replaceAll('{{', '{').replaceAll('}}', '}');
}

function fillOf(place: string): Fill {
  const [, form, rest = ''] = /^(git\.|env\.|slot:)(.*)$/s.exec(place) ?? [];
  if (form === 'git.' && (rest === 'sha' || rest === 'branch')) return ({ cwd, env }) => gitFact(rest, cwd, env);
  if (form === 'env.' && rest !== '') return ({ env }) => fromEnv(rest, env);
  if (form === 'slot:' && rest.trim() !== '') return async ({ nowMs, timezone }) => slotText(await slotAt(rest, nowMs, timezone));
  if (place === 'date') return ({ nowMs }) => new Date(nowMs).toISOString().slice(0, 10);
  if (place === 'host' || place === 'user') return ({ env }) => runFacts(env)[place];
  throw refuse(`--key: {${place}} is unknown`);
}

function fromEnv(name: string, env: NodeJS.ProcessEnv): string {
  const value: unknown = env[name];
  // `process.env.constructor` is a function.
  if (typeof value !== 'string') throw new UsageError(`--key: the environment variable ${name} is not set`);
  if (value === '') throw new UsageError(`--key: the environment variable ${name} is empty`);
  if (value.includes('\uFFFD'))
    throw new UsageError(`--key: the environment variable ${name} holds bytes that are not UTF-8: two values could be one key`);
  return value;
}

const refuse = (what: string): UsageError => new UsageError(`${what}. There are: ${PLACEHOLDERS.map(([form]) => form).join(' ')}`);
