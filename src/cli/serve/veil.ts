/**
 * An outcome without what the work returned or threw: those may be anybody's personal data. What it was, and when, stays.
 *
 * @module
 */
import { commandValue } from '../commands/command-value.ts';
import type { KeptOutcome } from '../commands/kept-outcome.ts';

const NOT_SHOWN = '(not shown: --show-values)';

export function veiled(outcome: KeptOutcome): KeptOutcome {
  switch (outcome.kind) {
    case 'value':
      return { ...outcome, value: bareCommand(outcome.value) };
    case 'error':
      return { kind: 'error', name: outcome.name, message: NOT_SHOWN, ...(outcome.code === undefined ? {} : { code: outcome.code }) };
    default:
      return outcome;
  }
}

/** Of a guarded command: without what it was called with, and what it printed. */
function bareCommand(value: unknown): unknown {
  if (commandValue(value) === undefined) return NOT_SHOWN;
  const { command: _, tail: __, ciRunUrl: ___, gitSha: ____, ...rest } = value as Record<string, unknown>;
  return rest;
}
