/**
 * A caller of `runInTransaction` that says how far it has come, and then waits to be killed.
 *
 * @module
 */
import pg from 'pg';
import { type PoolLike, type RunInTransactionOptions, runInTransaction } from '../../src/stores/postgres/index.ts';

/** After which statement it waits; `commit-sent`: without waiting for the answer. `never`: it goes on until it is killed. */
export type Step = 'begin' | 'own-row' | 'business-row' | 'outcome' | 'commit-sent' | 'committed' | 'never';

export interface Errand {
  readonly url: string;
  readonly isolation: NonNullable<RunInTransactionOptions['isolation']>;
  readonly step: Step;
  /** One after the other. */
  readonly keys: readonly string[];
}

const AFTER: Readonly<Record<Step, RegExp>> = {
  begin: /^BEGIN/,
  'own-row': /SAVEPOINT/,
  'business-row': /^INSERT INTO orders/,
  outcome: /^UPDATE/,
  'commit-sent': /^COMMIT/,
  committed: /^COMMIT/,
  never: /^$/,
};

const errand = JSON.parse(process.argv[2] ?? '') as Errand;
const pool = new pg.Pool({ connectionString: errand.url, max: 1 });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const forEver = (): Promise<never> => new Promise(() => setInterval(() => {}, 60_000));

const watched: PoolLike = {
  query: (text, values) => pool.query(text, values),
  async connect() {
    const client = await pool.connect();
    return {
      release: (broken) => client.release(broken),
      async query(text, values) {
        const answer = client.query(text, values);
        if (!AFTER[errand.step].test(text)) return answer;
        if (errand.step === 'commit-sent') {
          // Into the socket, at least.
          await new Promise((resolve) => setImmediate(resolve));
        } else await answer;
        say('there');
        return forEver();
      },
    };
  },
};

say('ready');
for (const key of errand.keys) {
  const value = `${key} by ${process.pid}`;
  await runInTransaction({ pool: watched, operation: 'orders/take', key, isolation: errand.isolation }, async (tx) => {
    await tx.query('INSERT INTO orders (key, value) VALUES ($1, $2)', [key, value]);
    return value;
  });
  say(`done ${value}`);
}
await pool.end();
