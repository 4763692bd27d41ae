/**
 * What has gone wrong in public with the locks and leases of others, and the test that would find it here.
 *
 * @module
 */
import { BLOB_WIRE, EXPIRY, FENCED, HOLDER, HOLDING, LEASE, POSTGRES_LATER, type PublicFailure, RACES, SLOTS, TURNS, WIRE } from './test-files.ts';

export const PUBLIC_FAILURES: readonly PublicFailure[] = [
  {
    issues: 'ShedLock #132',
    happened: 'a pause between looking and writing',
    tests: [
      [HOLDER, 'ShedLock #132 a pause between looking and writing'],
      [LEASE, 'an answer later than the lease it grants is not handed out'],
      ['test/unit/leases/file-between.test.ts', 'after its own deadline: it is not handed out, and the lock is gone'],
    ],
  },
  {
    issues: 'ShedLock #74',
    happened: 'a stale unlock frees the successor',
    tests: [
      [EXPIRY, 'I4 after a takeover the old owner neither renews nor releases'],
      [HOLDING, 'I4 a stale owner neither renews nor releases, and the holder notices nothing'],
      [LEASE, "I4 a stale holder's release does not free its successor"],
    ],
  },
  {
    issues: 'ShedLock #317',
    happened: 'the host name as owner',
    tests: [
      [HOLDER, 'ShedLock #317 two holders of one process'],
      ['test/unit/leases/file.test.ts', 'I6 is held for a second provider of the same process too'],
    ],
  },
  {
    issues: 'ShedLock #2201, awslabs #1 #62',
    happened: 'no fencing',
    tests: [[FENCED, 'ShedLock #2201, awslabs #1 #62 a stale token is refused, with both tokens'], TURNS],
  },
  {
    issues: 'ShedLock #3577',
    happened: "the lock joined the caller's transaction",
    tests: [['test/leases/failures-sqlite.test.ts', 'ShedLock #3577 a lease never joins the transaction that the caller has open']],
    not: `now() of a long transaction: ${POSTGRES_LATER}`,
  },
  {
    issues: 'ShedLock #3662',
    happened: '409 where 412 was expected',
    tests: [
      // The first round races for an insert (409), the others for an update (412).
      [RACES, 'callers at once one acquires, and all others are told it is held'],
      ['test/unit/leases/azure-blob-races.test.ts', 'I6 of 32 that race for a new name exactly one acquires it, the others are told that it is held'],
    ],
  },
  {
    issues: 'dynamolock #280',
    happened: 'a renewal was applied, its answer lost',
    tests: [
      [WIRE, 'dynamolock #280 a renewal and a release that meet %s are neither lost nor in the way of the next'],
      [LEASE, 'I7 a renewal or a release that meets %j loses nothing'],
      [BLOB_WIRE, 'I7 a renewal is not lost'],
    ],
  },
  {
    issues: 'aws-sdk-java #2667, aws-sdk-go #3765',
    happened: 'a retry sees its own write as a conflict',
    tests: [
      [WIRE, 'aws-sdk-java #2667, aws-sdk-go #3765 an acquisition that meets %s is not refused for its own write'],
      [HOLDING, 'I7 the same owner asking again gets the same lease and token'],
      [BLOB_WIRE, 'I7 acquiring is not refused for its own request (%s)'],
    ],
  },
  {
    issues: 'awslabs PR #116, tristanls #21 #35, redis-semaphore #205 #206',
    happened: 'a release met a renewal under way',
    tests: [
      [HOLDER, 'awslabs PR #116, tristanls #21, redis-semaphore #205 released while a renewal is under way'],
      [HOLDER, 'awslabs PR #116 renewed while the release is under way'],
      ['test/simulation/found.test.ts', 'a release while a renewal is asked for: released is said, and no loss is told'],
    ],
  },
  {
    issues: 'tristanls #1',
    happened: 'a renewal went on after the release and kept the process alive',
    tests: [
      ['test/leases/leaves.test.ts', 'I12 tristanls #1, redis-semaphore #20 ends by itself when it has released it'],
      [LEASE, 'I12 is renewed while held, and leaves no timer behind once released'],
      ['test/unit/leases/file.test.ts', 'and leaves no open file, no timer'],
    ],
  },
  {
    issues: 'awslabs #34 #93, python_dynamodb_lock #366, dynamolock #778',
    happened: 'whoever lives shortly cannot take a dead lock',
    tests: [[HOLDER, 'awslabs #34 #93, python_dynamodb_lock #366, dynamolock #778'], TURNS],
  },
  {
    issues: 'awslabs #63, redis-semaphore #24 #9',
    happened: 'frozen, or at a breakpoint, past the lease',
    tests: [
      TURNS,
      ['test/crash/suite.ts', 'I4 I5 a process stopped past its named lease: assertHeld throws, its fenced write is refused'],
      ['test/crash/file-leases.test.ts', 'I4 I6 past its lease: nobody else gets it meanwhile'],
    ],
  },
  {
    issues: 'iceberg #2034, azure-functions-langgraph-python #384',
    happened: 'one error ends the renewals',
    tests: [
      [HOLDER, 'iceberg #2034, azure-functions-langgraph-python #384 two renewals that meet %s do not end the lease'],
      [BLOB_WIRE, 'I7 one bad answer does not end a renewal'],
    ],
  },
  {
    issues: 'node-redlock #253',
    happened: 'a renewal that hangs keeps the lease for ever',
    tests: [
      [LEASE, 'a renewal that hangs for ever ends the lease on time, once, and says so'],
      [BLOB_WIRE, 'I10 a request that hangs ends by its limit, and by the signal of the caller'],
      ['test/leases/leaves.test.ts', 'the lease ends on time, the release does not throw, nothing is unhandled, and the process ends by itself'],
    ],
  },
  {
    issues: 'node-redlock #131 #168 #309 #362',
    happened: 'a failed release hides the result',
    tests: [
      [HOLDER, 'node-redlock #131 #168 #309 #362 the lease ran out and somebody else has it'],
      [LEASE, "the work's own result or error always wins over a failed release"],
    ],
  },
  {
    issues: 'node-redlock #185',
    happened: 'not acquired and lost cannot be told apart',
    tests: [[HOLDER, 'node-redlock #185 held, lost, in doubt and out of reach are four different things']],
  },
  {
    issues: 'node-redlock #283, redis-semaphore #199',
    happened: 'an unhandled rejection ends the process',
    tests: [
      [HOLDER, 'node-redlock #283, redis-semaphore #199 no rejection is left unhandled'],
      ['test/leases/leaves.test.ts', 'nothing is unhandled'],
    ],
  },
  {
    issues: 'redis-semaphore #175',
    happened: 'acquired again in silence after a gap',
    tests: [
      [HOLDER, 'redis-semaphore #175 a renewal does not pass over a gap'],
      [EXPIRY, 'I4 a renewal does not pass over a gap'],
    ],
  },
  {
    issues: 'azure-sdk-for-net #29944, DistributedLock #132 #141',
    happened: 'a release that was sent twice, or came late, throws',
    tests: [
      [BLOB_WIRE, 'I7 a release is released, once, with its marks (%s)'],
      [HOLDING, 'releasing twice is harmless, also when somebody else holds it by then'],
    ],
  },
  {
    issues: 'azure-sdk-for-java #12030',
    happened: 'acquiring failed, and the blob was leased',
    tests: [[BLOB_WIRE, 'I8 an acquisition without any answer is a doubt; the same owner mends it']],
  },
  {
    issues: 'azure-functions-host #2950 #2968',
    happened: 'the old run goes on beside the new',
    tests: [[FENCED, 'azure-functions-host #2950 #2968 the host gave the lease away while the old run went on']],
  },
  {
    issues: 'cosmos-db-design-patterns #91',
    happened: 'the document with the token was removed',
    tests: [
      ['test/leases/tokens.test.ts', 'I5 cosmos-db-design-patterns #91 grow over release, deletion of what keeps them, and a restart'],
      ['test/leases/tokens.test.ts', 'I5 a lease row is never purged'],
      ['test/unit/leases/file-lost.test.ts', 'deleted again and again while it is asked for: no two are given the same token'],
    ],
  },
  {
    issues: 'dyndb-mutex #14',
    happened: 'a time to live in ms instead of seconds',
    tests: [
      [WIRE, 'dyndb-mutex #14 the row of a lease carries no time to live'],
      ['test/unit/stores/dynamodb.test.ts', 'the TTL attribute is in seconds'],
    ],
  },
  {
    issues: 'kubernetes #23731 #44887',
    happened: 'a loss is not told, or renewing goes on after it',
    tests: [[HOLDER, 'kubernetes #23731 #44887 a definite loss is final: told once']],
  },
  {
    issues: 'fabric8 #7258',
    happened: 'the reader went by its own duration',
    tests: [
      [EXPIRY, 'I6 how long a lease runs is what its holder asked for, not what the next one asks for'],
      [EXPIRY, 'I10 a lease whose holder died is free when it has run out, and not before'],
    ],
  },
  {
    issues: 'client-go #728, kubernetes PR #139991',
    happened: 'released while the work still ran',
    tests: [[LEASE, 'releases only after the work has settled']],
  },
  {
    issues: 'etcd #11456',
    happened: 'granted after the lease had run out in the wait',
    tests: [
      [HOLDER, 'etcd #11456 a lease that came after a long wait runs from the request that got it'],
      [LEASE, 'an answer later than the lease it grants is not handed out'],
    ],
  },
  {
    issues: 'pekko-management #911',
    happened: 'granted after the caller was told no',
    tests: [
      [HOLDER, 'pekko-management #911 an acquisition that was given up and lands all the same'],
      [WIRE, 'pekko-management #911 an acquisition that was given up and lands later'],
      [BLOB_WIRE, 'I6 a late copy of an acquisition does not take the lease from its successor'],
      ['test/simulation/found.test.ts', 'I4 an acquisition that was given up does not take the lease later'],
    ],
  },
  {
    issues: 'proper-lockfile #121, npm/lockfile #4, hermit #423',
    happened: 'two take one stale lock; a lock file was removed',
    tests: [
      [EXPIRY, 'I6 of eight callers at once for a lease that is running out, one gets it'],
      ['test/crash/file-leases.test.ts', 'I6 I10 of eight that ask at once for what a dead holder left, one gets it'],
      ['test/unit/leases/file-between.test.ts', 'deleted between opening and locking: the lock is taken on the file that is there'],
      ['test/unit/leases/file-lost.test.ts', 'deleted: he is told so when he renews, and the next token is higher'],
    ],
  },
  {
    issues: 'pgbouncer #102, authentik #23876',
    happened: 'the advisory lock of a session leaked',
    tests: [],
    not: `no session is a lock here; ${POSTGRES_LATER}`,
  },
  {
    issues: 'redisson #2669 #4822',
    happened: 'a failover lost the lock, or set the counter back',
    tests: [[HOLDER, 'redisson #2669 #4822 a row that fell back to an older state gives a token above all that were given out']],
    not: 'a failover of Redis: it comes with its own provider',
  },
  {
    issues: 'quartz #106 #847, quartznet #2817',
    happened: 'a node that lives was taken for dead, its job ran twice',
    tests: [
      [LEASE, 'two instances of one slot: one run'],
      [SLOTS, 'a slot that is done is not given again'],
      ['test/unit/leases/azure-blob-races.test.ts', 'I3 of 16 that race for one slot, over and over, one does it'],
    ],
    not: 'a holder that dies before it marks the slot leaves it open: once per slot is at least once across a crash',
  },
  {
    issues: 'meteor-synced-cron #22, paseo #2819, sidekiq-scheduler #332',
    happened: 'one slot under two keys; one finish moved on two slots',
    tests: [
      ['test/functions/aws-singleton.test.ts', 'I1 runs once per slot, though the event is delivered twice'],
      ['test/functions/azure-singleton.test.ts', 'I3 computes the slot from the schedule where the monitor is off: two hosts, one run'],
      [SLOTS, 'the mark never goes back'],
    ],
  },
  {
    issues: 'bullmq #3183, bull #308',
    happened: 'the event loop stood still',
    tests: [
      [HOLDER, 'bullmq #3183, bull #308 the event loop stood still for longer than the lease'],
      ['test/unit/leases/file.test.ts', 'after a stall of the whole process too: assertHeld throws at once'],
    ],
  },
  {
    issues: 'vault-lambda-extension #150, DarkHours #204',
    happened: 'the monotonic clock was frozen',
    tests: [[HOLDER, 'vault-lambda-extension #150, DarkHours #204 the lease ends when either clock says so: %s']],
  },
  {
    issues: 'ShedLock #1542 #1401',
    happened: 'what a minimum hold means',
    tests: [
      [HOLDER, 'ShedLock #1542 #1401 after the release it is free at the later of now and start + minimum hold'],
      [SLOTS, 'the minimum hold outlives the release, and ends'],
    ],
  },
  {
    issues: 'pg-boss #327, Kubernetes CronJob',
    happened: 'missed slots',
    tests: [[LEASE, 'a slot that is done is not handed out again, an older one has passed, a failed one stays open']],
    not: 'catching up: nothing is scheduled here; one late run per call, and `onPassed` says what becomes of an older slot',
  },
];
