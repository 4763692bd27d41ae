/**
 * `show`: everything that is kept of one run, or of one lease. It never writes.
 *
 * @module
 */
import type { StoredRecord } from '../../core/record.ts';
import { EXIT, EXIT_UNKNOWN } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { type Address, findRun } from './find-run.ts';
import { harmless } from './harmless.ts';
import { type KeptOutcome, keptOutcome } from './kept-outcome.ts';
import { leaseFacts, leaseSentence, lookAtLease } from './lease-look.ts';
import { plainJson } from './plain-json.ts';
import { recordFacts } from './record-facts.ts';
import { type Line, outcomeLines, recordLines, STEP, stepState } from './record-lines.ts';
import { stateOf } from './standing.ts';
import { INK, WORD } from './status.ts';

const LABEL = 14;

export interface ShowRequest {
  readonly place: OpenPlace;
  readonly what: Address;
  readonly out: Screen;
}

/**
 * Exit code: 0 it was shown; 3 nothing is kept under that name.
 *
 * @throws UsageError; RerunSafeError `STORE_UNAVAILABLE`, …
 */
export async function show({ place, what, out }: ShowRequest): Promise<number> {
  if (what.kind === 'lease') return showLease(place, what.name, out);
  const found = await findRun(place, what);
  const { store, id, stored, name } = found;
  if (stored === undefined) {
    if (out.isJson) out.json({ kind: 'run', state: 'none', id });
    else out.print(`${name}: nothing is kept of it`);
    return EXIT_UNKNOWN;
  }
  const kept = stored.record.outcome;
  const outcome = kept === undefined ? undefined : await keptOutcome(store, id, kept);
  const state = stateOf(stored, store.clock.uncertaintyMs, outcome);
  if (out.isJson) out.json({ kind: 'run', state, ...recordFacts(id, stored), ...rest(stored.record, outcome) });
  else {
    const lines: Line[] = [
      ['state', out.paint(INK[state], WORD[state])],
      ...recordLines({ ...found, stored }),
      ...Object.entries(stored.record.steps ?? {}).map(([name, step]): Line => ['step', `${harmless(name)}: ${STEP[stepState(step)]}`]),
      ...outcomeLines(outcome),
    ];
    for (const [label, text] of lines) out.print(`${label.padEnd(LABEL)}${text}`);
  }
  return EXIT.ok;
}

async function showLease(place: OpenPlace, name: string, out: Screen): Promise<number> {
  const look = await lookAtLease(place, name);
  if (out.isJson) out.json({ kind: 'lease', ...leaseFacts(name, look) });
  else out.print(`lock ${JSON.stringify(harmless(name))}: ${look.state}, ${leaseSentence(look, place.store?.clock.nowMs() ?? Date.now())}`);
  return look.state === 'none' ? EXIT_UNKNOWN : EXIT.ok;
}

const rest = ({ scope, fingerprint, steps }: StoredRecord, outcome: KeptOutcome | undefined) => ({
  scope: scope === '' ? null : scope,
  fingerprint: fingerprint ?? null,
  steps: Object.entries(steps ?? {}).map(([name, step]) => ({ name, state: stepState(step) })),
  outcome: outcome === undefined ? null : (plainJson(outcome) as object),
});
