import { describe, expect, it } from 'vitest';
import { type BeginIntent, decide, type MoveIntent } from '../../../src/core/decide.ts';
import type { Stored } from '../../../src/core/ports.ts';
import type { Outcome, State, StoredRecord } from '../../../src/core/record.ts';

const LEASE = 1_000;
const RETENTION = 10_000;
const UNCERTAIN = 100;
const NOW = 5_000_000;
const outcome: Outcome = { kind: 'value', value: [1] };

function standing(over: Partial<StoredRecord>, ageMs: number): Stored {
  const record: StoredRecord = {
    schema: 1,
    operation: 'o',
    scope: '',
    state: 'running',
    owner: 'other',
    revision: 'r',
    token: 4_000_000,
    attempt: 1,
    leaseMs: LEASE,
    retentionMs: RETENTION,
    createdAtMs: 1,
    writtenAtMs: 1,
    ...over,
  };
  return { record, version: 'v', ageMs };
}

const begin = (over: Partial<BeginIntent> = {}): BeginIntent => ({
  kind: 'begin',
  owners: new Set(['me']),
  fingerprint: 'v1:a',
  onUnknown: 'retry',
  maxAttempts: 3,
  ...over,
});
const facts = { nowMs: NOW, uncertaintyMs: UNCERTAIN };

describe('decide: a new caller, over the whole domain', () => {
  const states: State[] = ['running', 'completed', 'released', 'blocked'];
  const ages = [0, LEASE, LEASE + UNCERTAIN, LEASE + UNCERTAIN + 1, RETENTION + UNCERTAIN, RETENTION + UNCERTAIN + 1];
  const fingerprints = [undefined, 'v1:a', 'v1:b', 'own:b'];
  const policies = ['retry', 'block', 'ask'] as const;
  const attempts = [1, 2, 3];
  const cases = states.flatMap((state) =>
    ages.flatMap((ageMs) =>
      fingerprints.flatMap((fingerprint) =>
        policies.flatMap((onUnknown) =>
          attempts.flatMap((attempt) => ['other', 'me'].map((owner) => ({ state, ageMs, fingerprint, onUnknown, attempt, owner }))),
        ),
      ),
    ),
  );

  /** The table of the design, written down a second time and in another way. */
  function expected(c: (typeof cases)[number]): string {
    const expires = c.state === 'completed' || c.state === 'released';
    const lapsed = c.state === 'running' && c.ageMs > LEASE + UNCERTAIN;
    if (c.state === 'running' && c.owner === 'me') return 'ours';
    if (expires && c.ageMs > RETENTION + UNCERTAIN) return 'claim 1';
    if (c.fingerprint === 'v1:b') return 'key-reused';
    if (c.state === 'completed') return 'replay';
    if (c.state === 'blocked') return 'blocked';
    if (c.state === 'running' && !lapsed) return 'in-flight';
    if (lapsed && c.onUnknown === 'block') return 'block unknown';
    if (c.attempt >= 3) return 'block attempts';
    return `claim ${c.attempt + 1}${lapsed && c.onUnknown === 'ask' ? ' ask' : ''}`;
  }

  it(`says what the design says in all ${cases.length} cases`, () => {
    for (const c of cases) {
      const decision = decide(
        standing({ state: c.state, attempt: c.attempt, owner: c.owner, outcome, ...(c.fingerprint && { fingerprint: c.fingerprint }) }, c.ageMs),
        begin({ onUnknown: c.onUnknown }),
        facts,
      );
      const said =
        decision.kind === 'claim'
          ? `claim ${decision.attempt}${decision.ask ? ' ask' : ''}`
          : decision.kind === 'block'
            ? `block ${decision.why}`
            : decision.kind;
      expect(said, JSON.stringify(c)).toBe(expected(c));
    }
  });

  it('I5 every claim and every block raises the token, and follows the clock', () => {
    for (const token of [10, NOW - 1, NOW, NOW + 1_000_000]) {
      const over = standing({ state: 'released', token }, 0);
      const claim = decide(over, begin(), facts);
      const block = decide(standing({ token }, LEASE * 3), begin({ onUnknown: 'block' }), facts);
      const fresh = decide(standing({ state: 'completed', token }, RETENTION * 2), begin(), facts);
      for (const decision of [claim, block, fresh]) {
        if (decision.kind !== 'claim' && decision.kind !== 'block') throw new Error(decision.kind);
        expect(decision.token).toBe(Math.max(token + 1, NOW));
      }
    }
  });

  it('claims what is absent with attempt 1, the clock as token and no steps', () => {
    expect(decide(undefined, begin(), facts)).toMatchObject({ kind: 'claim', over: undefined, attempt: 1, token: NOW, steps: undefined });
  });

  it('keeps the steps of a released and of a lapsed attempt, and drops those of an expired one', () => {
    const steps = { a: { outcome } } as unknown as NonNullable<StoredRecord['steps']>;
    expect(decide(standing({ state: 'released', steps }, 0), begin(), facts)).toMatchObject({ steps });
    expect(decide(standing({ steps }, LEASE * 2), begin(), facts)).toMatchObject({ steps });
    expect(decide(standing({ state: 'released', steps }, RETENTION * 2), begin(), facts)).toMatchObject({ attempt: 1, steps: undefined });
  });

  it('I8 a record written with a lease of 0 ms is lapsed at once', () => {
    expect(decide(standing({ leaseMs: 0 }, 0), begin(), facts)).toMatchObject({ kind: 'claim', afterUnknown: true });
    expect(decide(standing({ leaseMs: 0 }, 0), begin({ onUnknown: 'block' }), facts)).toMatchObject({ kind: 'block' });
  });

  it('retryAfterMs is the least of the lease left, the age of the record but at least 1 s, and 10 s', () => {
    const wait = (leaseMs: number, ageMs: number) => decide(standing({ leaseMs }, ageMs), begin(), facts);
    expect(wait(60_000, 0)).toMatchObject({ retryAfterMs: 1_000 });
    expect(wait(60_000, 5_000)).toMatchObject({ retryAfterMs: 5_000 });
    expect(wait(60_000, 40_000)).toMatchObject({ retryAfterMs: 10_000 });
    expect(wait(60_000, 59_900)).toMatchObject({ retryAfterMs: 200 });
    expect(wait(60_000, 60_100)).toMatchObject({ retryAfterMs: 1 });
  });
});

describe("decide: an owner's own moves", () => {
  const move = (kind: MoveIntent['kind']): MoveIntent => ({ kind, owner: 'me', fingerprint: 'v1:a' });
  const table: [standing: Stored | undefined, ...expected: Record<MoveIntent['kind'], string>[]][] = [
    [undefined, { renew: 'lost', step: 'lost', complete: 'create', 'give-up': 'lost' }],
    [standing({ owner: 'me' }, 0), { renew: 'write', step: 'write', complete: 'write', 'give-up': 'write' }],
    [standing({ owner: 'me' }, LEASE * 9), { renew: 'write', step: 'write', complete: 'write', 'give-up': 'write' }],
    [standing({ owner: 'me', state: 'completed' }, 0), { renew: 'done', step: 'done', complete: 'done', 'give-up': 'done' }],
    [standing({ owner: 'me', state: 'released' }, 0), { renew: 'lost', step: 'lost', complete: 'lost', 'give-up': 'done' }],
    [standing({ owner: 'other' }, 0), { renew: 'lost', step: 'lost', complete: 'lost', 'give-up': 'lost' }],
    [standing({ owner: 'other' }, LEASE * 9), { renew: 'lost', step: 'lost', complete: 'lost', 'give-up': 'lost' }],
    [standing({ owner: 'other', state: 'released' }, 0), { renew: 'lost', step: 'lost', complete: 'lost', 'give-up': 'lost' }],
    [standing({ owner: 'other', state: 'blocked' }, 0), { renew: 'lost', step: 'lost', complete: 'lost', 'give-up': 'lost' }],
    [
      standing({ owner: 'other', state: 'completed', outcome, fingerprint: 'v1:a' }, 0),
      { renew: 'lost', step: 'lost', complete: 'adopt', 'give-up': 'lost' },
    ],
    [
      standing({ owner: 'other', state: 'completed', outcome, fingerprint: 'v1:b' }, 0),
      { renew: 'lost', step: 'lost', complete: 'lost', 'give-up': 'lost' },
    ],
  ];

  it.each(table)('I4 %j', (stands, expected) => {
    for (const kind of ['renew', 'step', 'complete', 'give-up'] as const) {
      expect(decide(stands, move(kind), facts).kind, kind).toBe(expected?.[kind]);
    }
  });
});
