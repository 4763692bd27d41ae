import type { StoredRecord } from '../../src/core/record.ts';

/** What the store accepts, one write after the other, read by one who knows true time. Nothing expires here, and no row is removed. */
export class Judge {
  readonly #isLease: boolean;
  readonly #wrong: string[];
  /** Owners that were succeeded, with the last token of each. */
  readonly #retired = new Map<string, number>();
  /** Owners before whose claim the step had been kept. */
  readonly #afterStep = new Set<string>();
  readonly tokens = new Map<string, Set<number>>();
  readonly released = new Set<string>();
  /** Owners who claimed over an attempt that had ended with no outcome. */
  readonly afterUnknown = new Set<string>();
  #stepKept = false;
  #before: StoredRecord | undefined;
  outcome: string | undefined;

  constructor(isLease: boolean, wrong: string[]) {
    this.#isLease = isLease;
    this.#wrong = wrong;
  }

  /** Whether an attempt before this owner's had kept the step. */
  hadStep(owner: string | undefined): boolean {
    return owner !== undefined && this.#afterStep.has(owner);
  }

  /** `writer`: whose request it was. */
  accepts(b: StoredRecord, writer: string): void {
    const a = this.#before;
    this.#before = b;
    const what = `${a?.state ?? 'absent'}(${a?.owner}) → ${b.state}(${b.owner})`;
    const must = (holds: boolean, promise: string): void => {
      if (!holds) this.#wrong.push(`${promise}: ${what}`);
    };
    if (this.#stepKept && !this.tokens.has(b.owner)) this.#afterStep.add(b.owner);
    if (b.steps !== undefined && Object.keys(b.steps).length > 0) this.#stepKept = true;
    this.tokens.set(b.owner, (this.tokens.get(b.owner) ?? new Set()).add(b.token));
    if (b.state === 'released') this.released.add(b.owner);
    if (b.state === 'completed') {
      must(this.outcome === undefined, 'I1 two outcomes');
      this.outcome = JSON.stringify(b.outcome);
    }
    must(b.owner.startsWith(writer), `I4 ${writer} wrote for another owner`);
    const retired = this.#retired.get(b.owner);
    // Asked for again under the same owner, a lease may find that its earlier self was succeeded: then it has a new token.
    must(retired === undefined || (this.#isLease && b.token > retired), 'I4 an owner came back');
    if (a === undefined) return;
    must(b.token >= a.token, `I5 the token fell from ${a.token} to ${b.token}`);
    must(a.state !== 'completed', 'I3 an outcome was written over');
    must(a.state !== 'blocked', 'I8 a blocked record was written over');
    if (a.owner === b.owner) {
      must(a.state === 'running', 'I4 an owner wrote after its own end');
      return;
    }
    this.#retired.set(a.owner, a.token);
    if (a.state === 'running') this.afterUnknown.add(b.owner);
    must(b.token > a.token, 'I5 the token did not grow with the owner');
    const heldMs = b.writtenAtMs - a.writtenAtMs;
    // Who answered "block" itself goes under another name.
    const isOwnBlock = b.state === 'blocked' && a.holder === b.holder;
    must(a.state !== 'running' || heldMs > a.leaseMs || a.leaseMs === 0 || isOwnBlock, `I6 taken ${heldMs} ms into a lease of ${a.leaseMs} ms`);
    must(this.#isLease || b.state !== 'running' || b.attempt === a.attempt + 1, 'the attempts do not count up');
  }
}
