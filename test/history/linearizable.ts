/**
 * Whether calls that overlap can be put in one order, each at a moment between its start and its end, so that every answer is right. The search of
 * Wing and Gong, with Lowe's memory of where it has been: which calls are done, and what state that left.
 *
 * @module
 */

export interface Operation<Input> {
  readonly input: Input;
  readonly startMs: number;
  /** Infinity: its outcome is unknown, and it may take effect at any later time, or never. */
  readonly endMs: number;
  /** Comes after that operation (its index), where both take place. */
  readonly after?: number;
  /** May never take place, although its time is over. */
  readonly optional?: boolean;
}

export interface Model<State, Input> {
  readonly initial: State;
  /** undefined: in this state the answer would be wrong. The same state again: it changes nothing. */
  step(state: State, input: Input): State | undefined;
  nameOf(state: State): string;
}

export type Found<Input> =
  | { readonly linearizable: true; readonly order: readonly Operation<Input>[] }
  /** The longest order that was right, and those of which none can come next. */
  | {
      readonly linearizable: false;
      readonly order: readonly Operation<Input>[];
      readonly state: string;
      readonly stuck: readonly Operation<Input>[];
    };

const mayNever = (operation: Operation<unknown>): boolean => operation.endMs === Number.POSITIVE_INFINITY || operation.optional === true;

export function linearize<State, Input>(given: readonly Operation<Input>[], model: Model<State, Input>): Found<Input> {
  const at = given.map((_, index) => index).sort((a, b) => (given[a] as Operation<Input>).startMs - (given[b] as Operation<Input>).startMs);
  const placeOf = new Map(at.map((index, place) => [index, place]));
  const all = at.map((index) => given[index] as Operation<Input>);
  const firstOf = all.map(({ after }) => (after === undefined ? undefined : placeOf.get(after)));
  const laterThan = all.map((_, n) => firstOf.flatMap((first, later) => (first === n ? [later] : [])));
  const done = new Uint8Array(all.length);
  const order: number[] = [];
  const been = new Set<string>();
  let left = all.filter((operation) => !mayNever(operation)).length;
  let longest: { order: number[]; state: State } = { order: [], state: model.initial };

  /** Nothing that is not done may have ended before it began. */
  function candidates(): number[] {
    let firstEndMs = Number.POSITIVE_INFINITY;
    const found: number[] = [];
    for (const [n, operation] of all.entries()) {
      if (operation.startMs > firstEndMs) break;
      if (done[n] === 1) continue;
      if (!mayNever(operation)) firstEndMs = Math.min(firstEndMs, operation.endMs);
      found.push(n);
    }
    return found.filter((n) => {
      const { startMs, endMs, optional } = all[n] as Operation<Input>;
      const first = firstOf[n];
      const isAfter = first === undefined || done[first] === 1 || mayNever(all[first] as Operation<Input>);
      // What has not happened in its time never will.
      const isOver = optional === true && order.some((m) => (all[m] as Operation<Input>).startMs > endMs);
      return startMs <= firstEndMs && isAfter && !isOver && !laterThan[n]?.some((later) => done[later] === 1);
    });
  }

  const take = (n: number): void => {
    done[n] = 1;
    order.push(n);
    if (!mayNever(all[n] as Operation<Input>)) left -= 1;
  };
  const takeBack = (n: number): void => {
    done[n] = 0;
    order.pop();
    if (!mayNever(all[n] as Operation<Input>)) left += 1;
  };

  function search(state: State): boolean {
    if (left === 0) return true;
    if (order.length > longest.order.length) longest = { order: [...order], state };
    const place = `${done.join('')} ${model.nameOf(state)}`;
    if (been.has(place)) return false;
    been.add(place);
    const next = candidates();
    // What changes nothing and is right now may as well come now: no other order is lost by it, but those with what then is over.
    const idle = next.find((n) => {
      const operation = all[n] as Operation<Input>;
      if (mayNever(operation) || operation.after !== undefined || model.step(state, operation.input) !== state) return false;
      return !all.some(({ optional, endMs }, m) => done[m] === 0 && optional === true && endMs < operation.startMs);
    });
    for (const n of idle === undefined ? next : [idle]) {
      const after = model.step(state, (all[n] as Operation<Input>).input);
      // What may never happen, and would change nothing, need not happen.
      if (after === undefined || (after === state && mayNever(all[n] as Operation<Input>))) continue;
      take(n);
      if (search(after)) return true;
      takeBack(n);
    }
    return false;
  }

  const named = (places: readonly number[]): Operation<Input>[] => places.map((n) => all[n] as Operation<Input>);
  if (search(model.initial)) return { linearizable: true, order: named(order) };
  for (const n of longest.order) take(n);
  return { linearizable: false, order: named(longest.order), state: model.nameOf(longest.state), stuck: named(candidates()) };
}
