/**
 * What this version can read of what lies in a record. A later one may have written more, under the same schema.
 *
 * @module
 */
import { recordTooNew } from './errors.ts';
import type { Outcome, RecordToWrite } from './record.ts';

const KINDS: ReadonlySet<string> = new Set<Outcome['kind']>(['value', 'error', 'sealed', 'packed', 'parts', 'not-stored']);

/**
 * Asked before a call acts on a record: nothing is run over what only a later version can read, and nobody is told that it is lost. Lists, sweeps and
 * people see such a record as it is. What a value looks like is a matter of the codec.
 *
 * @throws RerunSafeError `RECORD_TOO_NEW`
 */
export function mustBeKnown({ outcome, steps = {} }: Pick<RecordToWrite, 'outcome' | 'steps'>): void {
  if (outcome !== undefined) kindMustBeKnown('an outcome', outcome);
  if (!isObject(steps)) throw recordTooNew('holds steps in a form that this version does not know');
  for (const [name, step] of Object.entries<unknown>(steps)) {
    if (isObject(step) && 'outcome' in step) kindMustBeKnown(`of the step "${name}" an outcome`, step.outcome);
    else if (!isObject(step) || !('begun' in step) || typeof step.begun !== 'number')
      throw recordTooNew(`holds a form of the step "${name}" that this version does not know`, { step: name });
  }
}

function kindMustBeKnown(what: string, outcome: unknown): void {
  const kind = isObject(outcome) && 'kind' in outcome ? String(outcome.kind) : typeof outcome;
  if (!KINDS.has(kind)) throw recordTooNew(`holds ${what} of a kind that this version does not know (${kind})`, { kind });
}

const isObject = (thing: unknown): thing is object => typeof thing === 'object' && thing !== null;
