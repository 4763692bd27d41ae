/**
 * Orders that are charged, shipped and mailed while providers crash and processes are killed. Exit code 0 only when each had each effect once, and all
 * callers of an order have the same receipt; 1 otherwise, 2 for options that are not there. docs/orders.md shows what is printed.
 *
 * @module
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Order } from '../../functions/orders/shop.ts';
import type { RecordStore } from '../../src/index.ts';
import { Dice } from '../../test/simulation/world.ts';
import { BACKENDS, storeAt } from '../scenarios/place.ts';
import { lazyServers } from '../scenarios/servers.ts';
import { onStage, type Stage } from '../scenarios/stage.ts';
import { CREW, Crew } from './crew.ts';
import type { Death } from './deaths.ts';
import { startProcess } from './process.ts';
import { type Provider, startProvider } from './provider.ts';
import { linesOf } from './report.ts';
import { judge } from './verdict.ts';
import type { Task } from './worker.ts';

const KINDS = ['sqlite', 'postgres', 'dynamodb', 'azure-tables'] as const;
const LEASE_MS = 600;
const TIMEOUT_MS = 150;
/** Longer than an answer is waited for: what came too late for its caller may still be done, and is found by the next attempt. */
const VALID_MS = 220;
const LIMIT_MS = 600_000;

const HELP = `npm run orders -- [options]

  --runs <number>      orders, at least 1 (1000)
  --seed <number>      of the dice that providers and processes throw (1)
  --store <name>       ${KINDS.join(', ')} (${KINDS[0]})
  --without-keys       a new key for each call: effects come twice
  --without-deadlines  a carrier that takes no notice of the deadline, asked at once: some effects come twice
  --help               this text
`;

interface Options {
  readonly runs: number;
  readonly seed: number;
  readonly kind: (typeof KINDS)[number];
  /** Controls: false shows that the harness sees what goes wrong. */
  readonly keys: boolean;
  readonly deadlines: boolean;
}

/** What was asked for; 'help'; or what is wrong. */
function given(): Options | 'help' | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      options: {
        runs: { type: 'string', default: '1000' },
        seed: { type: 'string', default: '1' },
        store: { type: 'string', default: 'sqlite' },
        'without-keys': { type: 'boolean', default: false },
        'without-deadlines': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const [runs, seed, kind] = [Number(values.runs), Number(values.seed), KINDS.find((one) => one === values.store)];
    if (!Number.isSafeInteger(runs) || runs < 1) return { wrong: '--runs is a number, at least 1' };
    if (!Number.isSafeInteger(seed)) return { wrong: '--seed is a number' };
    if (kind === undefined) return { wrong: `--store is one of ${KINDS.join(', ')}` };
    return { runs, seed, kind, keys: !values['without-keys'], deadlines: !values['without-deadlines'] };
  } catch (error) {
    return { wrong: (error as Error).message };
  }
}

const ordersOf = (count: number): Order[] =>
  Array.from({ length: count }, (_, index) => {
    const id = `order-${index + 1}`;
    return { id, total: 1_000 + index, mails: ['customer', 'warehouse'].map((to) => ({ id: `${id}/${to}`, to })) };
  });

async function play({ runs, seed, kind, keys, deadlines }: Options, stage: Stage): Promise<boolean> {
  const place = await stage.place(kind);
  const notes = join(stage.folder, 'deaths');
  const provider = async (salt: number, prefix: string, knowsKeys: boolean): Promise<Provider> => {
    const started = await startProvider({ dice: new Dice(seed * 1_000 + salt), prefix, knowsKeys, keepsDeadlines: deadlines });
    stage.defer(() => started.stop());
    return started;
  };
  const [payments, carrier, mailer] = await Promise.all([provider(1, 'ch', true), provider(2, 'pa', false), provider(3, 'ma', true)]);
  const shop = { payments: payments.url, carrier: carrier.url, mailer: mailer.url, timeoutMs: TIMEOUT_MS, validMs: deadlines ? VALID_MS : 0 };
  let processes = 0;
  const start = () => {
    processes += 1;
    const task: Task = { shop, leaseMs: LEASE_MS, seed: seed * 1_000 + 100 + processes, notes, keys };
    return startProcess({ PLACE: JSON.stringify(place), TASK: JSON.stringify(task), NODE_COMPILE_CACHE: join(stage.folder, 'compiled') });
  };

  const orders = ordersOf(runs);
  const startedMs = performance.now();
  const worked = await new Crew({ orders, dice: new Dice(seed), leaseMs: LEASE_MS, limitMs: LIMIT_MS, start }).work();
  const tookMs = performance.now() - startedMs;
  const ledgers = { payments: payments.ledger, carrier: carrier.ledger, mails: mailer.ledger };
  const verdict = judge(orders, ledgers, worked);
  const deaths = (await readFile(notes, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '') as Death[];
  const attempts = await attemptsOf(await storeAt(place));
  const control = [...(keys ? [] : ['without keys']), ...(deadlines ? [] : ['without deadlines'])].map((one) => ` · ${one}`).join('');
  const title = `${runs} orders · ${BACKENDS[kind]} · ${CREW} processes · seed ${seed}${control}`;
  process.stdout.write(`${linesOf({ title, orders: runs, verdict, ledgers, worked, deaths, attempts, tookMs }).join('\n')}\n`);
  return verdict.ok;
}

async function attemptsOf(store: RecordStore): Promise<number[]> {
  const attempts: number[] = [];
  for await (const { record } of store.list({ operation: 'orders/fulfil' })) attempts.push(record.attempt);
  await store.close?.();
  return attempts;
}

const options = given();
if (options === 'help') {
  process.stdout.write(HELP);
  process.exit(0);
}
if ('wrong' in options) {
  process.stderr.write(`${options.wrong}\n`);
  process.exit(2);
}
// Each process that is started is ended with this one.
process.setMaxListeners(200);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const root = await mkdtemp(join(tmpdir(), 'rerunsafe-orders-'));
const servers = lazyServers();
let ok = false;
try {
  await onStage(servers, root, async (stage) => {
    ok = await play(options, stage);
  });
} finally {
  await servers.stop();
  await rm(root, { recursive: true, force: true });
}
process.exit(ok ? 0 : 1);
