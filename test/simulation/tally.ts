import type { Fault, Purpose } from './faults.ts';
import type { Shelf } from './shelf.ts';

/** Counts what really happened, so that a simulation which no longer reaches a state is noticed. */
export class Tally {
  readonly counts = new Map<string, number>();

  saw(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  fault(fault: Fault, purpose: Purpose): void {
    this.saw(faultAt(fault, purpose));
  }

  history({ history, effects }: Shelf): void {
    this.saw('writes', history.length);
    if (effects.length > 0) this.saw('fenced write', effects.length);
    let before: (typeof history)[number] | undefined;
    for (const now of history) {
      const [a, b] = [before?.record, now.record];
      before = now;
      if (now.how !== undefined || a === undefined || b === undefined) continue;
      if (b.word !== undefined && b.word !== a.word) this.saw(`a person's ${b.word.did} over ${a.state}`);
      else if (a.owner === b.owner)
        this.saw(b.state === 'running' ? (b.leaseMs === 0 ? 'declared unknown' : b.steps === a.steps ? 'renewed' : 'step kept') : `own ${b.state}`);
      else if (b.state === 'blocked') this.saw('record blocked');
      else this.saw(a.state === 'running' ? 'takeover' : `claim over ${a.state}`);
    }
  }

  add(counts: Iterable<readonly [string, number]>): void {
    for (const [what, times] of counts) this.saw(what, times);
  }

  /** Those that were seen less often than `least`. */
  missing(expected: readonly string[], least: number): string[] {
    return expected.filter((what) => (this.counts.get(what) ?? 0) < least).map((what) => `${what}: ${this.counts.get(what) ?? 0} times`);
  }
}

export const faultAt = (fault: Fault, purpose: Purpose): string => `${fault} at ${purpose}`;
