/**
 * What a simulated store accepted, as events of a history.
 *
 * @module
 */
import type { RecordToWrite } from '../../src/core/record.ts';
import type { Accepted } from './format.ts';
import { keptOf } from './record-store.ts';

/** Times in ms by the world's clock. No record: the row is not there any more. */
export interface Simulated {
  readonly atMs: number;
  readonly fromMs: number;
  readonly record: RecordToWrite | undefined;
  /** Not written by anybody. */
  readonly how?: 'removed' | 'set-back';
}

/** `forcedBy`: the name under which people insist. */
export function acceptedOf(key: string, history: readonly Simulated[], forcedBy?: string): Accepted[] {
  return history.map(({ atMs, fromMs, record, how }, n) => {
    const before = history[n - 1]?.record;
    const word = record?.word !== before?.word ? record?.word : undefined;
    const forced = word?.by !== undefined && word.by === forcedBy;
    const corrects = forced && before?.outcome !== undefined && 'resolved' in before.outcome;
    return {
      ...{ what: 'accepted', key, caller: record?.holder ?? '', atMs, fromMs },
      ...(record === undefined ? {} : { record: keptOf(record) }),
      ...(word === undefined ? {} : { person: { did: word.did, forced, corrects } }),
      ...(how === 'set-back' ? { setBack: true } : {}),
    };
  });
}
