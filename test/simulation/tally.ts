import type { Shop } from './shop.ts';

/** Counts what really happened, so that a simulation which no longer reaches a state is noticed. */
export class Tally {
  readonly counts = new Map<string, number>();

  saw(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  history(shop: Shop): void {
    for (const [fault, times] of shop.faults) this.saw(`fault ${fault}`, times);
    let before: (typeof shop.history)[number] | undefined;
    for (const now of shop.history) {
      const [a, b] = [before?.record, now.record];
      before = now;
      if (a === undefined || b === undefined) continue;
      if (a.owner === b.owner)
        this.saw(b.state === 'running' ? (b.leaseMs === 0 ? 'declared unknown' : b.steps === a.steps ? 'renewed' : 'step kept') : `own ${b.state}`);
      else if (b.state === 'blocked') this.saw('record blocked');
      else this.saw(a.state === 'running' ? 'takeover' : `claim over ${a.state}`);
    }
  }

  missing(expected: readonly string[]): string[] {
    return expected.filter((what) => !this.counts.has(what));
  }
}
