/**
 * What is asked of the two models, in which size, and what must come of it.
 *
 * @module
 */
export interface Property {
  readonly model: 'records' | 'leases';
  /** What it shows, for the table. */
  readonly shows: string;
  /** `#define`s of the model. */
  readonly defines: readonly string[];
  /** `holds`: no error in any state. Otherwise the words of the assertion, or of the complaint, that must come. */
  readonly expected: 'holds' | RegExp;
  /** Also that no run goes on for ever. */
  readonly ends?: true;
  /** Minutes, not seconds: by hand only. */
  readonly long?: true;
}

const records = (shows: string, defines: string, expected: Property['expected'] = 'holds'): Property => ({
  model: 'records',
  shows,
  defines: defines.split(' '),
  expected,
});
const leases = (shows: string, defines: string, expected: Property['expected'] = 'holds'): Property => ({
  model: 'leases',
  shows,
  defines: defines.split(' '),
  expected,
});
const long = (property: Property): Property => ({ ...property, long: true });
const ends = (property: Property): Property => ({ ...property, ends: true });

const FENCED = 'NOT_STALE NOT_BACK NOT_TWO_BY_THEIR_CLOCKS';

/** The protocol as it is, under every interleaving of the named faults. */
export const PROMISES: readonly Property[] = [
  records('I1-I7: two callers, one fault anywhere, two pauses past the lease', 'FAULTS=1 PAUSES=2 RENEWALS=0 THROWS=0'),
  records('I1-I7: two faults, one pause', 'FAULTS=2 PAUSES=1 RENEWALS=0 THROWS=0'),
  records('I1-I7: a renewal', 'FAULTS=1 PAUSES=1 RENEWALS=1 THROWS=0'),
  records('I1-I7: callers that wait and look again', 'FAULTS=1 PAUSES=1 RENEWALS=0 THROWS=0 LOOKS=1'),
  records('I1, I2, I4, I5, I7, and I3 of later calls: clocks that are wrong', 'CLOCKS_WRONG FAULTS=1 PAUSES=1 RENEWALS=0 THROWS=0'),
  records('I1-I7: work that throws, and an unknown outcome blocks', 'ON_UNKNOWN_BLOCK FAULTS=1 PAUSES=1 RENEWALS=0 THROWS=1'),
  records('I1, I2: a person forgets or resolves, also by force', 'PERSON ON_UNKNOWN_BLOCK FAULTS=0 PAUSES=1 RENEWALS=0 THROWS=0'),
  records('I1, I2: the row of a lapsed run is purged', 'VANISH FAULTS=1 PAUSES=1 RENEWALS=0 THROWS=0'),
  records('I1-I7: three callers, one fault, no pause', 'CALLS=3 FAULTS=1 PAUSES=0 ROUNDS=1 RENEWALS=0 THROWS=0'),
  // Spin looks for the one or for the other.
  records('I10: nobody waits for what never comes, and a last call gets an outcome', 'FINALE FAULTS=1 PAUSES=1 CRASHES=1 RENEWALS=0 THROWS=0'),
  ends(records('I10: no call goes on for ever', 'FINALE FAULTS=1 PAUSES=1 CRASHES=1 RENEWALS=0 THROWS=0')),
  long(records('I1-I7: two faults, two pauses', 'FAULTS=2 PAUSES=2 RENEWALS=0 THROWS=0')),
  long(records('I1-I7: two faults, two renewals, work that throws', 'FAULTS=2 PAUSES=1 RENEWALS=2 THROWS=1')),
  long(records('I1-I7: three callers, one pause', 'CALLS=3 FAULTS=0 PAUSES=1 RENEWALS=0 THROWS=0')),
  long(records('I1, I2, I4, I5, I7: wrong clocks, a renewal, work that throws', 'CLOCKS_WRONG FAULTS=1 PAUSES=1 RENEWALS=1 THROWS=1')),
  long(records('I1, I2: a person, and one fault', 'PERSON ON_UNKNOWN_BLOCK FAULTS=1 PAUSES=1 RENEWALS=0 THROWS=0')),
  leases('a stale write is never taken: fenced by the row', `FENCE=ROW ${FENCED} FAULTS=1 PAUSES=1 RENEWALS=0 WRITES=1 ASKS=2`),
  leases('the same, with a lease released and taken again', `FENCE=ROW ${FENCED} FAULTS=0 PAUSES=1 RENEWALS=1 WRITES=1 ASKS=3`),
  leases('the same with clocks that are wrong', 'FENCE=ROW CLOCKS_WRONG NOT_STALE NOT_BACK FAULTS=1 PAUSES=0 RENEWALS=0 WRITES=1 ASKS=2'),
  leases('a token never goes back: fenced by the highest seen', 'FENCE=HIGHEST NOT_BACK FAULTS=1 PAUSES=1 RENEWALS=0 WRITES=2 ASKS=2'),
  leases('three holders', `HOLDERS=3 FENCE=ROW ${FENCED} FAULTS=0 PAUSES=1 RENEWALS=0 WRITES=1 ASKS=2`),
  long(leases('three holders, each once', `HOLDERS=3 FENCE=ROW ${FENCED} FAULTS=0 PAUSES=1 RENEWALS=0 WRITES=1 ASKS=3`)),
  long(leases('a stale write is never taken: three asks, one fault', `FENCE=ROW ${FENCED} FAULTS=1 PAUSES=1 RENEWALS=1 WRITES=2 ASKS=3`)),
];

/** What no lease and no store can prevent, or only a fence does: it must be found. */
export const REACHABLE: readonly Property[] = [
  leases('two are at work at once', 'FENCE=ROW NOT_TWO_AT_WORK FAULTS=0 PAUSES=1', /assertion violated.*inside\[0\]/),
  leases(
    'two hold by their own clocks, where clocks are wrong',
    'CLOCKS_WRONG NOT_TWO_BY_THEIR_CLOCKS FAULTS=0 PAUSES=0',
    /assertion violated.*has\[0\]/,
  ),
  leases('a stale write is taken: no fence', 'FENCE=NOTHING NOT_STALE FAULTS=0 PAUSES=1', /assertion violated.*fenceOwner/),
  leases('a token goes back: no fence', 'FENCE=NOTHING NOT_BACK FAULTS=0 PAUSES=1', /assertion violated.*highestSeen/),
  leases(
    'a stale write is taken before the next holder writes: highest token',
    'FENCE=HIGHEST NOT_STALE FAULTS=0 PAUSES=1',
    /assertion violated.*fenceOwner/,
  ),
];

const SMALL = 'FAULTS=1 PAUSES=1 RENEWALS=0 THROWS=0';

/** Wrong protocols: a model in which these are not found is too weak. */
export const PLANTED: readonly Property[] = [
  records('completes without a condition', `COMPLETE_UNCONDITIONALLY ${SMALL}`, /assertion violated.*state==/),
  records('releases without a look at the owner', `RELEASE_UNCONDITIONALLY ${SMALL} THROWS=1`, /assertion violated.*state==/),
  records('does not raise the token at a takeover', `TOKEN_NOT_RAISED ${SMALL}`, /assertion violated.*token>highest/),
  records('does not know its own claim again', `OWN_NOT_RECOGNISED ${SMALL}`, /assertion violated\s+!.*owner/),
  records('does not know its own completion again', `OWN_OUTCOME_NOT_RECOGNISED ${SMALL}`, /assertion violated.*accepted!=owner/),
  records('takes over without waiting for the lease', `TAKEOVER_AT_ONCE ${SMALL}`, /assertion violated.*lapsed/),
  records('runs the work again after a lost answer', `RETRY_RUNS_AGAIN ${SMALL}`, /assertion violated.*mayStart>0/),
  records('starts the work on a claim in doubt', `STARTS_IN_DOUBT ${SMALL}`, /assertion violated.*stands\]\.owner==owner/),
  records('starts the work on an answer after its deadline', `LATE_ANSWER_STARTS ${SMALL}`, /assertion violated.*stands\]\.owner==owner/),
  records(
    'counts its lease from the last send, not from the one that stands',
    `COUNTS_FROM_LAST_SEND ${SMALL}`,
    /assertion violated.*stands\]\.owner==owner/,
  ),
  records('returns its own value where another one was accepted', `OWN_VALUE_AFTER_ALL ${SMALL}`, /assertion violated.*accepted>0/),
  records('has no time limit on a call', `WAITS_FOR_EVER ${SMALL}`, /invalid end state/),
  ends(records('polls for ever', `POLLS_FOR_EVER FINALE LOOKS=1 ${SMALL}`, /non-progress cycle/)),
  leases('releases without a look at the owner', 'RELEASES_WHAT_STANDS FAULTS=1 PAUSES=1', /assertion violated.*state==/),
  leases('releases without a condition', 'RELEASE_UNCONDITIONALLY FAULTS=0 PAUSES=1', /assertion violated.*state==/),
  leases('does not raise the token', 'TOKEN_NOT_RAISED FAULTS=0 PAUSES=0', /assertion violated.*token>highest/),
  leases('takes over without waiting', 'TAKEOVER_AT_ONCE FAULTS=0 PAUSES=0', /assertion violated.*lapsed/),
  leases('does not know its own lease again', 'OWN_NOT_RECOGNISED FAULTS=1 PAUSES=0', /assertion violated.*owner/),
  leases('hands a lease out after its deadline', 'LATE_ANSWER_HOLDS FAULTS=0 PAUSES=1', /assertion violated.*stands\]\.owner==owner/),
];
