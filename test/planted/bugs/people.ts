/**
 * Replays, and what people say of a run.
 *
 * @module
 */
import { alsoInTests, inTests, type PlantedBug } from '../bug.ts';

export const PEOPLE: readonly PlantedBug[] = [
  {
    name: 'a replay does not look at the fingerprint',
    why: "Powertools without payloadValidationJmesPath, most HTTP wrappers: another input is given the first one's outcome",
    file: 'src/core/decide.ts',
    find: "if (fingerprintsDiffer(record.fingerprint, intent.fingerprint)) return { kind: 'key-reused' };",
    replace: "if (record.state !== 'completed' && fingerprintsDiffer(record.fingerprint, intent.fingerprint)) return { kind: 'key-reused' };",
    caughtBy: inTests('unit/core/run-once', 'I9 refuses the same key'),
  },
  {
    name: 'a late result is given for another input',
    why: 'the same at the end of a run: what another owner completed under the key is adopted, whatever its input was',
    file: 'src/core/decide.ts',
    find: "if (completing && record.state === 'completed' && !fingerprintsDiffer(record.fingerprint, intent.fingerprint)) {",
    replace: "if (completing && record.state === 'completed') {",
    caughtBy: alsoInTests('unit/core/decide'),
  },
  {
    name: 'the local cache outlives the record',
    why: "Powertools' useLocalCache: an answer from memory after the record has expired",
    file: 'src/core/local-replay.ts',
    find: 'forMs: Math.min(forMs, maxAgeMs) }',
    replace: 'forMs: Math.max(forMs, maxAgeMs) }',
    caughtBy: inTests('unit/core/local-replay'),
  },
  {
    name: 'the local cache does not look at the fingerprint',
    why: "Powertools' local cache is asked before the payload is validated",
    file: 'src/core/local-replay.ts',
    find: '  if (entry.fingerprint !== fingerprint) return undefined;\n',
    replace: '',
    caughtBy: alsoInTests('unit/core/local-replay', 'I9'),
  },
  {
    name: 'what a person has forgotten comes back from the local cache',
    why: 'ours, fixed in 09446ee',
    file: 'src/core/local-replay.ts',
    find: '  if (begunAfter.get(facts) !== timesForgotten(guard.store)) return;\n',
    replace: '',
    caughtBy: inTests('unit/core/local-replay-forget'),
  },
  {
    name: "a person's word is written over whatever has come since",
    why: "ours, fixed in 09446ee: an operator's command that acts on what the screen showed a minute ago",
    file: 'src/core/person.ts',
    find: "    if (!force && kind !== 'erase' && !isSame(over, seen)) return { kind: 'changed' };\n",
    replace: '',
    caughtBy: inTests('unit/core/person-races'),
  },
  {
    name: 'forgetting a run removes its token',
    why: 'a row that is deleted by hand: the owner that is still at work is not fenced',
    file: 'src/core/person.ts',
    find: 'owner: realSystem.nonce(), revision: realSystem.nonce(), token, ...saidBy(word) }',
    replace: "owner: realSystem.nonce(), revision: realSystem.nonce(), token: kind === 'forget' ? 1 : token, ...saidBy(word) }",
    caughtBy: alsoInTests('unit/core/person', 'I5 forgetting'),
  },
  {
    name: 'a run that is going on is resolved without force',
    why: 'unlock buttons that do not look whether somebody is at work',
    file: 'src/core/decide.ts',
    find: "if (alive && !intent.force) return { kind: 'running'",
    replace: "if (alive && !intent.force && intent.kind === 'forget') return { kind: 'running'",
    caughtBy: alsoInTests('unit/core/person-races'),
  },
  {
    name: 'attempts are made without end',
    why: 'queues without a dead-letter limit: a message that kills its worker is tried for ever',
    file: 'src/core/decide.ts',
    find: "  if (record.attempt >= intent.maxAttempts) return { kind: 'block', over: standing, token, why: 'attempts' };\n",
    replace: '',
    caughtBy: alsoInTests('unit/core/outcomes', 'blocks beyond maxAttempts'),
  },
  {
    name: 'every caller shares one value',
    why: 'Powertools A12: a caller that changes its answer changes all later ones',
    file: 'src/core/codec.ts',
    find: 'return copyOf(encoded.json);',
    replace: 'return encoded.json;',
    caughtBy: inTests('unit/core/local-replay'),
  },
  {
    name: 'a value is kept that comes back as another one',
    why: 'Powertools A9 (P4, P5), JSON.stringify everywhere: later callers are given something else than the first one',
    file: 'src/core/codec.ts',
    find: 'isDeepStrictEqual(decode(encoded), value) ? { ok: true, encoded } : { ok: false }',
    replace: 'isDeepStrictEqual(decode(encoded), value) || true ? { ok: true, encoded } : { ok: false }',
    caughtBy: alsoInTests('unit/core/codec'),
  },
];
