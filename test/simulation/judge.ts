import { FOREVER_MS } from '../../src/core/record.ts';
import type { Accepted, Effect, Shelf } from './shelf.ts';

export interface Terms {
  /** A named lease, not the record of a run. */
  readonly lease: boolean;
  /** Clocks are as far apart as they may be; otherwise nothing is said of when. */
  readonly clocksAreRight: boolean;
}

/** What the store accepted, read as a judge who knows true time. Says each thing that must not be. */
export function judge({ history, effects }: Shelf, terms: Terms): string[] {
  const wrong: string[] = [];
  const retired = new Retired();
  let fromMs = 0;
  let completed = 0;
  let before: Accepted | undefined;
  const revisions = new Set<string>();
  /** The late copy of a request whose effect was lost: whoever saw it the first time may have seen it lapse. */
  let isAgain = false;
  for (let index = 0; index < history.length; index++) {
    const now = history[index] as Accepted;
    for (const effect of effects) if (effect.after === index) wrong.push(...retired.refuses(effect));
    const [a, b] = [before?.record, now.record];
    before = now;
    const heldFromMs = fromMs;
    fromMs = now.fromMs;
    if (now.how !== undefined || b === undefined) {
      // What a person removed takes its token with it, and the late copy of a claim may find it gone. What was lost was never there.
      completed = b?.state === 'completed' ? 1 : 0;
      retired.forget(b?.token ?? 0);
      isAgain = false;
      continue;
    }
    const heldMs = now.atMs - heldFromMs;
    const wasAgain = isAgain;
    isAgain = revisions.has(b.revision);
    revisions.add(b.revision);
    const isWord = b.word !== undefined && b.word !== a?.word;
    const isForced = isWord && b.word?.by === FORCED;
    const wronged: string[] = [];
    if (b.token < retired.highest) wronged.push(`I5 the token fell from ${retired.highest} to ${b.token}`);
    // A request for a lease that is sent again keeps its owner; it may find that its earlier self was succeeded, and then takes a new token.
    if (terms.lease ? b.token <= retired.tokenOf(b.owner) : retired.has(b.owner)) wronged.push('I4 an owner came back');
    if (a !== undefined && a.owner !== b.owner) {
      retired.add(a);
      if (b.token <= a.token) wronged.push('I5 the token did not grow with the owner');
      const own = b.state === 'blocked' && a.holder === b.holder;
      const broken = terms.lease && b.state === 'released';
      if (terms.clocksAreRight && !own && !broken && !isForced && !wasAgain) {
        if (a.state === 'running' && heldMs < a.leaseMs) wronged.push(`I6 taken ${heldMs} ms into a lease of ${a.leaseMs}`);
        if (terms.lease && a.state === 'released' && heldMs < a.leaseMs && b.state === 'running') wronged.push('I6 taken within the minimum hold');
      }
    }
    if (!terms.lease && a !== undefined && a.owner === b.owner && a.state !== 'running') wronged.push('I4 an owner wrote after its own end');
    const canExpire = a !== undefined && (a.state === 'completed' || a.state === 'released') && a.retentionMs < FOREVER_MS;
    const expired = canExpire && heldMs >= a.retentionMs;
    if (a?.state === 'blocked' && !isWord) wronged.push('I8 a blocked record was written over');
    if (a?.state === 'completed') {
      const corrected = isForced && a.outcome !== undefined && 'resolved' in a.outcome;
      if (expired || corrected || (isWord && b.word?.did === 'forget')) completed = 0;
      else wronged.push('I3 an outcome was written over');
    }
    if (b.state === 'completed' && ++completed > 1) wronged.push('I1 two outcomes');
    if (!terms.lease && a !== undefined && a.owner !== b.owner && b.state === 'running' && !expired && b.attempt !== a.attempt + 1)
      wronged.push('the attempts do not count up');
    retired.highest = Math.max(retired.highest, b.token);
    if (wronged.length > 0) {
      const what = `${a?.state ?? 'absent'}(${a?.owner}) → ${b.state}(${b.owner}) at ${now.atMs}`;
      wrong.push(...wronged.map((reason) => `${reason}: ${what}`));
    }
  }
  for (const effect of effects) if (effect.after === history.length) wrong.push(...retired.refuses(effect));
  return [...wrong, ...oneTokenOneOwner(effects, history)];
}

/** How a person says that they insist, in the simulation. */
export const FORCED = 'forced';

/** Owners that were succeeded, with the last token of each. */
class Retired {
  highest = 0;
  readonly #tokens = new Map<string, number>();

  add({ owner, token }: { readonly owner: string; readonly token: number }): void {
    this.#tokens.set(owner, token);
  }

  has(owner: string): boolean {
    return this.#tokens.has(owner);
  }

  tokenOf(owner: string): number {
    return this.#tokens.get(owner) ?? 0;
  }

  forget(highest: number): void {
    this.highest = highest;
    this.#tokens.clear();
  }

  /** A transaction with the row lets nobody write who was succeeded. */
  refuses({ fence, by }: Effect): string[] {
    if (by !== 'row' || this.tokenOf(fence.owner) < fence.token) return [];
    return [`I4 a fenced write of a stale owner landed: ${JSON.stringify(fence)}`];
  }
}

/** Tokens alone tell owners apart where a target keeps the highest it has seen. */
function oneTokenOneOwner(effects: readonly Effect[], history: readonly Accepted[]): string[] {
  if (history.some(({ how }) => how !== undefined)) return [];
  const owners = new Map<number, string>();
  const wrong: string[] = [];
  for (const { fence } of effects) {
    const other = owners.get(fence.token);
    if (other !== undefined && other !== fence.owner) wrong.push(`I5 ${other} and ${fence.owner} have the token ${fence.token}`);
    owners.set(fence.token, fence.owner);
  }
  return wrong;
}
