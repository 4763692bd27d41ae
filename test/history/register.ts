/**
 * A row of a record store: it is absent or has a revision, and a write has a condition on that. What clients were answered is searched for one order of
 * all of it that explains every answer.
 *
 * @module
 */
import { type Call, linesOf, only } from './calls.ts';
import type { Accepted, Answered, Standing } from './format.ts';
import { linearize, type Model, type Operation } from './linearizable.ts';
import type { Violation } from './violation.ts';

/** '': the row is absent. */
type State = string;
const ABSENT = '';

interface Input {
  readonly call: Call<StoreOp>;
  /** What it changes: from which state to which. */
  readonly changes?: { readonly from: State; readonly to: State };
  /** It says that this does not stand there. */
  readonly not?: State;
  /** It says that this stands there. */
  readonly shows?: State;
}

type StoreOp = 'read' | 'create' | 'replace' | 'delete';

const register: Model<State, Input> = {
  initial: ABSENT,
  step(state, { changes, not, shows }) {
    if (changes !== undefined) return state === changes.from ? changes.to : undefined;
    return state !== not && (shows === undefined || state === shows) ? state : undefined;
  },
  nameOf: (state) => state,
};

export interface Delivery {
  /** `again`: an SDK or a network may send a request more than once, so a write that was told of a conflict may have taken effect before. */
  readonly sent: 'once' | 'again';
  /** A refused write shows what refused it. Otherwise the row is read after the refusal. */
  readonly showsAtOnce: boolean;
}

/** `calls`: of one key. `accepted`: the writes that took effect, in their order, where there is one that explains all answers. */
export function judgeRegister(key: string, calls: readonly Call[], delivery: Delivery): { violations: Violation[]; accepted: Accepted[] } {
  const asked = only(calls, 'read', 'create', 'replace', 'delete');
  const { revisionOf, violations } = versions(key, asked);
  const operations: Operation<Input>[] = [];
  for (const call of asked) {
    for (const { after, ...part } of partsOf(call, revisionOf, delivery)) {
      operations.push({ startMs: call.startMs, endMs: call.endMs, ...part, ...(after === undefined ? {} : { after: operations.length - 1 }) });
    }
  }
  const found = linearize(operations, register);
  if (found.linearizable) return { violations, accepted: acceptedOf(key, found.order, tokensOf(asked)) };
  const shows = [...found.order.slice(-3), ...found.stuck].flatMap(({ input }) => linesOf(input.call));
  const says = `no order explains all answers: after ${found.order.length} of ${operations.length} the state is "${found.state}", and none of ${found.stuck.length} can come next`;
  return { violations: [...violations, { promise: 'I8', key, says, shows }], accepted: [] };
}

type Part = { readonly input: Input; readonly optional?: true; readonly after?: 'the one before' };

function partsOf(call: Call<StoreOp>, revisionOf: ReadonlyMap<string, string>, { sent, showsAtOnce }: Delivery): Part[] {
  const { invoke } = call;
  // A refusal says that nothing has happened; a question without an answer says nothing.
  if (call.end === 'fail') return [];
  if (invoke.op === 'read') return call.end === 'ok' ? [{ input: { call, shows: stateOf(call.answer as Standing) } }] : [];
  const from = invoke.op === 'create' ? ABSENT : (revisionOf.get(invoke.over) ?? `version ${invoke.over}`);
  const write: Input = { call, changes: { from, to: invoke.op === 'delete' ? ABSENT : invoke.record.revision } };
  if (call.end === 'unknown') return [{ input: write }];
  const answer = call.answer as Answered;
  if (answer.ok) return [{ input: write }];
  if ('tooLarge' in answer) return [];
  const shows = stateOf(answer.current);
  const earlier: Part[] = sent === 'again' ? [{ input: write, optional: true }] : [];
  if (showsAtOnce) return [...earlier, { input: { call, not: from, shows }, ...(sent === 'again' ? { after: 'the one before' } : {}) }];
  return [
    ...earlier,
    { input: { call, not: from }, ...(sent === 'again' ? { after: 'the one before' } : {}) },
    { input: { call, shows }, after: 'the one before' },
  ];
}

const stateOf = (standing: Standing): State => standing?.revision ?? ABSENT;

/** Each version is one revision, and the other way round; nobody may have one that nobody was given. */
function versions(key: string, calls: readonly Call<StoreOp>[]): { revisionOf: Map<string, string>; violations: Violation[] } {
  const revisionOf = new Map<string, string>();
  const versionOf = new Map<string, string>();
  const violations: Violation[] = [];
  const pair = (call: Call, version: string, revision: string): void => {
    const [known, other] = [revisionOf.get(version) ?? revision, versionOf.get(revision) ?? version];
    if (known !== revision || other !== version)
      violations.push({
        promise: 'I4',
        key,
        says: `version ${version} stands for ${known} and for ${revision}, or ${revision} has two`,
        shows: linesOf(call),
      });
    revisionOf.set(version, known);
    versionOf.set(revision, other);
  };
  for (const call of calls) {
    if (call.end !== 'ok') continue;
    const answer = call.answer as Standing | Answered;
    const standing = answer === null || 'revision' in answer ? answer : 'current' in answer ? answer.current : null;
    if (standing !== null) pair(call, standing.version, standing.revision);
    const { invoke } = call;
    if (answer !== null && 'ok' in answer && answer.ok && 'record' in invoke) pair(call, answer.version, invoke.record.revision);
  }
  return { revisionOf, violations };
}

/** A store with a clock of its own may have raised the token. */
function tokensOf(calls: readonly Call<StoreOp>[]): ReadonlyMap<string, number> {
  const tokens = new Map<string, number>();
  for (const call of calls) {
    if (call.end !== 'ok') continue;
    const answer = call.answer as Standing | Answered;
    const standing = answer === null || 'revision' in answer ? answer : 'current' in answer ? answer.current : null;
    if (standing !== null) tokens.set(standing.revision, standing.token);
    if (answer !== null && 'ok' in answer && answer.ok && answer.token !== undefined && 'record' in call.invoke)
      tokens.set(call.invoke.record.revision, answer.token);
  }
  return tokens;
}

/** Its time is the latest at which it can have happened, and its lease counts from the earliest: so nothing is called early that may not have been. */
function acceptedOf(key: string, order: readonly Operation<Input>[], tokens: ReadonlyMap<string, number>): Accepted[] {
  return order.flatMap(({ input: { call, changes }, startMs, endMs }): Accepted[] => {
    if (changes === undefined || call.invoke.op === 'read') return [];
    const { caller, op } = call.invoke;
    const seen = { what: 'accepted', key, caller, atMs: endMs, fromMs: startMs } as const;
    if (op === 'delete') return [seen];
    const { record } = call.invoke;
    return [{ ...seen, record: { ...record, token: tokens.get(record.revision) ?? record.token } }];
  });
}
