/**
 * Who is compared, and what each says itself that it does not promise. A count of a promise that a peer does not make is printed as such.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import type { PeerId } from './protocol.ts';
import type { Needs } from './services.ts';

export interface Peer {
  readonly id: PeerId;
  readonly name: string;
  readonly ours?: true;
  readonly kind: 'calls' | 'locks';
  readonly store: 'dynamodb' | 'redis';
  readonly needs: Needs;
  /** By the id of a check: where its documentation says so, or that it says nothing. */
  readonly notPromised: Readonly<Record<string, string>>;
  /** What one should know of a count: how it comes about, and where it would be otherwise. */
  readonly remarks?: Readonly<Record<string, string>>;
  /** By the id of a scenario: it has nothing of the kind, and is not asked. */
  readonly lacks: Readonly<Record<string, string>>;
}

const versionOf = (name: string): string =>
  (JSON.parse(readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8')) as { version: string }).version;

type Says = Readonly<Record<string, string>>;

const NOT_ON_REDIS: Says = { forgotten: 'not on Redis', restarted: 'not on Redis' };
const NO_MEANS: Says = { block: 'no means', ask: 'no means' };

const OURS: Says = {
  'killed/twice': 'README: "Not exactly-once for effects. After a crash or a lost lease the *work* may start again", see the next two',
};
const RENEWED: Says = {
  'expired/overlap': 'the lease is renewed while the work runs; in Lambda it is not, and lasts as long as what is left to the invocation',
};
const FORGETS = 'docs/redis.md, "What can be lost"';

const SLEEPER =
  'the page Idempotency says nothing of it. Lambda ends a sandbox at its time-out; there it takes a request that is still on its way, or work that goes on behind an answer';
const WINDOW = 'page Idempotency, `expiresAfterSeconds`: "...before a record is expired, allowing a new transaction with the same idempotency key"';

const NO_END = 'README: nothing on a request without its `onResponse`; the key is refused for `cacheTTLMS`, by default 24 h';
const ONE_NUMBER =
  'with a `cacheTTLMS` as short as the lease of the others; with its default of 24 h nobody takes over, and the key is refused for so long';

const NO_TOKEN = 'README: names no token that a resource could check';
const NO_TOKENS: Says = { 'paused/stale-write': NO_TOKEN, 'paused/token': NO_TOKEN };

const powertools = versionOf('@aws-lambda-powertools/idempotency');
const nodeIdempotency = versionOf('@node-idempotency/core');
const semaphore = versionOf('redis-semaphore');

export const PEERS: readonly Peer[] = [
  {
    id: 'rerunsafe-dynamodb',
    ours: true,
    name: 'rerunsafe, DynamoDB',
    kind: 'calls',
    store: 'dynamodb',
    needs: 'dynamodb',
    notPromised: OURS,
    remarks: RENEWED,
    lacks: NOT_ON_REDIS,
  },
  {
    id: 'rerunsafe-redis',
    ours: true,
    name: 'rerunsafe, Redis',
    kind: 'calls',
    store: 'redis',
    needs: 'redis',
    notPromised: { ...OURS, 'forgotten/again': FORGETS },
    remarks: RENEWED,
    lacks: {},
  },
  {
    id: 'powertools',
    name: `Powertools ${powertools}, DynamoDB`,
    kind: 'calls',
    store: 'dynamodb',
    needs: 'dynamodb',
    notPromised: {
      'killed/twice':
        'page Idempotency, "Lambda timeouts": "if an invocation expired during execution, it will be quickly executed again on the next retry"',
      'killed/untold': 'page Idempotency: nothing tells the work of earlier attempts',
      'expired/overlap': WINDOW,
      'expired/agree': WINDOW,
    },
    remarks: { 'stale-result/overwritten': SLEEPER, 'stale-result/agree': SLEEPER, 'stale-failure/freed': SLEEPER, 'stale-failure/three': SLEEPER },
    lacks: { ...NOT_ON_REDIS, ...NO_MEANS },
  },
  {
    id: 'node-idempotency',
    name: `node-idempotency ${nodeIdempotency}, Redis`,
    kind: 'calls',
    store: 'redis',
    needs: 'redis',
    notPromised: {
      'killed/free': NO_END,
      'claim-lost/free': NO_END,
      'expired/overlap': 'README: nothing on a `cacheTTLMS` shorter than the work',
      'expired/agree': 'README: nothing on a `cacheTTLMS` shorter than the work',
      'forgotten/again': 'README: nothing on what a server forgets',
    },
    remarks: {
      'stale-result/overwritten': ONE_NUMBER,
      'stale-result/agree': ONE_NUMBER,
      'stale-failure/freed': ONE_NUMBER,
      'other-payload/during': 'refused as "in progress": nothing was run',
    },
    lacks: NO_MEANS,
  },
  {
    id: 'leases-dynamodb',
    ours: true,
    name: 'rerunsafe leases, DynamoDB',
    kind: 'locks',
    store: 'dynamodb',
    needs: 'dynamodb',
    notPromised: {},
    lacks: NOT_ON_REDIS,
  },
  {
    id: 'leases-redis',
    ours: true,
    name: 'rerunsafe leases, Redis',
    kind: 'locks',
    store: 'redis',
    needs: 'redis',
    notPromised: { 'restarted/two': FORGETS },
    lacks: {},
  },
  {
    id: 'redlock',
    name: `redlock ${versionOf('redlock')}, 3 × Redis`,
    kind: 'locks',
    store: 'redis',
    needs: 'three redis',
    notPromised: NO_TOKENS,
    remarks: { 'paused/believes': 'by `lock.expiration`, which its README does not name: it has no call that asks' },
    lacks: {},
  },
  {
    id: 'semaphore-mutex',
    name: `redis-semaphore ${semaphore} Mutex, Redis`,
    kind: 'locks',
    store: 'redis',
    needs: 'redis',
    notPromised: {
      ...NO_TOKENS,
      'restarted/two': 'README: nothing on a restart; `RedlockMutex` is its "distributed version"',
      'restarted/stale-write': NO_TOKEN,
    },
    lacks: {},
  },
  {
    id: 'semaphore-redlock',
    name: `redis-semaphore ${semaphore} RedlockMutex, 3 × Redis`,
    kind: 'locks',
    store: 'redis',
    needs: 'three redis',
    notPromised: NO_TOKENS,
    lacks: {},
  },
];
