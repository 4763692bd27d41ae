import { FOREVER_MS } from '../../src/core/record.ts';
import type { Accepted } from './shop.ts';

/** What the store accepted, read as a judge who knows true time. Says each thing that must not be. */
export function judge(history: readonly Accepted[], { lease }: { lease: boolean }): string[] {
  const wrong: string[] = [];
  /** Owners that were succeeded, with the last token of each. */
  const retired = new Map<string, number>();
  let highest = 0;
  let fromMs = 0;
  let completed = 0;
  let before: Accepted | undefined;
  for (const now of history) {
    const a = before?.record;
    const b = now.record;
    before = now;
    const heldFromMs = fromMs;
    fromMs = now.fromMs;
    if (b === undefined) {
      completed = 0;
      // A row that a person removed takes its token with it, and the late copy of a claim may find it gone.
      highest = 0;
      retired.clear();
      continue;
    }
    const heldMs = now.atMs - heldFromMs;
    const what = `${a?.state ?? 'absent'}(${a?.owner}) → ${b.state}(${b.owner}) at ${now.atMs}`;
    if (b.token < highest) wrong.push(`I5 the token fell from ${highest} to ${b.token}: ${what}`);
    // A request for a lease that is sent again keeps its owner; it may find that its earlier self was succeeded, and then takes a new token.
    if (lease ? b.token <= (retired.get(b.owner) ?? 0) : retired.has(b.owner)) wrong.push(`I4 an owner came back: ${what}`);
    if (a !== undefined && a.owner !== b.owner) {
      retired.set(a.owner, a.token);
      if (b.token <= a.token) wrong.push(`I5 the token did not grow with the owner: ${what}`);
      const own = b.state === 'blocked' && a.holder === b.holder;
      if (a.state === 'running' && heldMs < a.leaseMs && !own && !(lease && b.state === 'released'))
        wrong.push(`I6 taken ${heldMs} ms into a lease of ${a.leaseMs}: ${what}`);
      if (lease && a.state === 'released' && heldMs < a.leaseMs && b.state === 'running') wrong.push(`I6 taken within the minimum hold: ${what}`);
    }
    if (!lease && a !== undefined && a.owner === b.owner && a.state !== 'running') wrong.push(`I4 an owner wrote after its own end: ${what}`);
    const expired = a !== undefined && (a.state === 'completed' || a.state === 'released') && a.retentionMs < FOREVER_MS && heldMs >= a.retentionMs;
    if (a?.state === 'blocked') wrong.push(`I8 a blocked record was written over: ${what}`);
    if (a?.state === 'completed') {
      if (expired) completed = 0;
      else wrong.push(`I3 an outcome was written over: ${what}`);
    }
    if (b.state === 'completed' && ++completed > 1) wrong.push(`I1 two outcomes: ${what}`);
    if (!lease && a?.owner !== b.owner && b.state === 'running' && !expired && a !== undefined && b.attempt !== a.attempt + 1)
      wrong.push(`the attempts do not count up: ${what}`);
    highest = Math.max(highest, b.token);
  }
  return wrong;
}
