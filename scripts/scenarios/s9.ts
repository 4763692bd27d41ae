/**
 * S9: a script is started twice.
 *
 * @module
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sendSignal } from '../send-signal.ts';
import type { Expect } from '../support/report.ts';
import { at, type Command, type Ended, eventually, exitOf, NODE, rerunsafe, start } from './commands.ts';
import { BACKENDS, poolAt } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';

const SCRIPT = [...NODE, join(import.meta.dirname, 's9-worker.ts')];
const JOBS = 20;
/** A command takes seconds to start where all scenarios run at once, and has to come before this one's end. */
const LEASE_MS = 10_000;

export const s9: Scenario = {
  id: 'S9',
  title: 'A script is started twice, by a retry, a person or CI',
  parts: [
    { on: WITHOUT, shows: 'a migration from euros to cents, on PostgreSQL', play: without },
    ...(['sqlite', 'postgres'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: kind === 'sqlite' ? 'rerunsafe run, remembered on the one machine' : 'rerunsafe run, remembered for all machines',
      slow: true,
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
    { on: BACKENDS.postgres, shows: `${JOBS} jobs of CI at once, who share the store and nothing else`, play: manyJobs },
  ],
};

/** Tables with a row of 5 euros each. */
async function tables(stage: Stage, ...names: readonly string[]) {
  const { url } = await (await stage.servers.postgres()).database();
  const pool = await poolAt({ url }, 1);
  stage.defer(() => pool.end());
  for (const name of names) await pool.query(`CREATE TABLE ${name} (amount bigint); INSERT INTO ${name} VALUES (5)`);
  const amount = async (name: string): Promise<number> =>
    Number((await pool.query<{ amount: string }>(`SELECT amount FROM ${name}`)).rows[0]?.amount);
  return { url, amount };
}

async function without(expect: Expect, stage: Stage): Promise<void> {
  const { url, amount } = await tables(stage, 'orders');
  const migrate = (): Promise<Ended['code']> => exitOf(start(stage, [...SCRIPT, 'orders'], { env: { DATABASE_URL: url } }));
  expect('a person runs it, exit code', await migrate(), 0);
  expect('an order of 5 euros, in cents', await amount('orders'), 500);
  expect('CI runs it for the same commit, exit code', await migrate(), 0);
  expect('the order of 5 euros, in cents', await amount('orders'), 50_000);
}

interface Asked {
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function guarded(expect: Expect, stage: Stage, kind: 'sqlite' | 'postgres'): Promise<void> {
  const { url, amount } = await tables(stage, 'orders', 'invoices', 'refunds', 'fees', 'taxes');
  const RERUNSAFE_STORE = kind === 'sqlite' ? 'sqlite:' : url;
  const ask = (args: readonly string[], env = {}): Command => rerunsafe(stage, args, { env: { RERUNSAFE_STORE, DATABASE_URL: url, ...env } });
  const migrate = (commit: string, table: string, { options = [], env = {} }: Asked = {}): Command =>
    ask(['run', '--key', 'migrate {env.COMMIT}', ...options, '--', ...SCRIPT, table], { COMMIT: commit, ...env });
  if (kind === 'postgres') await exitOf(ask(['set-up']));

  const twice = async () => {
    const first = await exitOf(migrate('a1', 'orders'));
    const again = await migrate('a1', 'orders').ended;
    const other = await exitOf(migrate('a1', 'invoices'));
    return { codes: [first, again.code], says: / done /.test(again.stderr), other };
  };
  const failed = async () => [await exitOf(migrate('b2', 'fees', { env: { FAILS: '1' } })), await exitOf(migrate('b2', 'fees'))];
  const killed = async () => {
    const STOPS = join(stage.folder, 'killed');
    const run = migrate('c3', 'refunds', { env: { AFTER_COMMIT: '1', STOPS } });
    await at(STOPS, run);
    sendSignal(Number(readFileSync(STOPS, 'utf8')), 'SIGKILL');
    const codes = [await exitOf(run), await exitOf(migrate('c3', 'refunds'))];
    const resolved = await exitOf(ask(['resolve', 'migrate c3', '--as', 'done', '--why', 'its amounts are in cents']));
    return { codes, resolved, after: await exitOf(migrate('c3', 'refunds')) };
  };
  const lost = async () => {
    const STOPS = join(stage.folder, 'lost');
    const options = ['--on-unknown', 'retry', '--lease', `${LEASE_MS}ms`];
    const run = migrate('d4', 'taxes', { options, env: { BEFORE_COMMIT: '1', STOPS } });
    await at(STOPS, run);
    run.kill();
    await run.ended;
    const killedAtMs = performance.now();
    const atOnce = await exitOf(migrate('d4', 'taxes', { options }));
    const waits = await exitOf(migrate('d4', 'taxes', { options: [...options, '--wait', '60s'] }));
    return { atOnce, waits, waited: performance.now() - killedAtMs > LEASE_MS / 2 };
  };
  const [two, three, four, five] = await Promise.all([twice(), failed(), killed(), lost()]);

  expect('a person runs it, then CI for the same commit', two.codes, [0, 0]);
  expect('CI is told that it is done', two.says, true);
  expect('an order of 5 euros, in cents', await amount('orders'), 500);
  expect('under the same key for another table: refused', two.other, 65);
  expect('an amount there: not touched', await amount('invoices'), 5);
  expect('it fails with 3; the next call runs it again', three, [3, 0]);
  expect('an amount of 5 euros, in cents', await amount('fees'), 500);
  expect('killed after its commit; the next call is blocked', four.codes, [137, 76]);
  expect('a person looks, finds it done, and says so', four.resolved, 0);
  expect('the next call: not run, all is well', four.after, 0);
  expect('an amount of 5 euros, in cents', await amount('refunds'), 500);
  expect('kill -9 before the commit, --on-unknown retry: at once', five.atOnce, 75);
  expect('one that waits runs it, when the lease is over', [five.waits, five.waited], [0, true]);
  expect('an amount of 5 euros, in cents', await amount('taxes'), 500);
}

async function manyJobs(expect: Expect, stage: Stage): Promise<void> {
  const { url, amount } = await tables(stage, 'orders');
  const env = { RERUNSAFE_STORE: url, DATABASE_URL: url, COMMIT: 'a1', BEFORE_COMMIT: '1' };
  await exitOf(rerunsafe(stage, ['set-up'], { env }));
  const jobs = Array.from({ length: JOBS }, (_, at) => {
    const waits = at % 2 === 1;
    const STOPS = join(stage.folder, `job-${at}`);
    const options = ['--json', '--key', 'migrate {env.COMMIT}', ...(waits ? ['--wait', '100s'] : [])];
    return { waits, STOPS, command: rerunsafe(stage, ['run', ...options, '--', ...SCRIPT, 'orders'], { env: { ...env, STOPS } }) };
  });
  const runs = () => jobs.find(({ STOPS }) => existsSync(STOPS));
  await eventually(() => runs() !== undefined, 'one of them runs it');
  const others = jobs.filter((job) => job !== runs() && !job.waits);
  // Whoever is refused is so while one is at it.
  const refused = await Promise.all(others.map(({ command }) => exitOf(command)));
  for (const { STOPS } of jobs) writeFileSync(`${STOPS}-on`, '');
  const ends = await Promise.all(jobs.map(async ({ waits, command }) => ({ waits, ...(await command.ended) })));

  expect('jobs that ran it', ends.filter(({ stderr }) => stderr.includes('"became":"succeeded"')).length, 1);
  expect('others of the half that does not wait: exit codes', [...new Set(refused)], [75]);
  expect('the half that waits: exit codes', [...new Set(ends.filter(({ waits }) => waits).map(({ code }) => code))], [0]);
  expect('an order of 5 euros, in cents', await amount('orders'), 500);
}
