import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BatchEvent, type BatchRecord, type EachOptions, idempotentEach } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { Dice } from '../simulation/world.ts';
import { gate, lambdaContext } from '../support/aws-events.ts';
import { EventSourceMapping, KINDS, type KindName, type Letter, type Outcome } from '../support/event-source-mapping.ts';

type Answer = { readonly batchItemFailures: readonly unknown[] } | undefined;

/** What goes wrong in a schedule beside what always may: handlers that fail, time that runs out, sandboxes that are killed, events delivered twice. */
interface Spoil {
  readonly answer?: (answer: Answer) => unknown;
  readonly unguarded?: boolean;
}

const MOST_ROUNDS = 400;

/** The body, wherever the source puts it. */
function keyOf(record: BatchRecord): string {
  if ('body' in record) return record.body;
  if ('dynamodb' in record) return record.dynamodb?.NewImage?.body?.S ?? '';
  const data = 'kinesis' in record ? record.kinesis.data : 'value' in record ? record.value : 'data' in record ? record.data : '';
  return Buffer.from(data, 'base64').toString();
}

function lettersOf(kind: KindName, dice: Dice): Letter[] {
  const letters: Letter[] = [];
  for (let n = 1, count = dice.between(4, 16); n <= count; n++) {
    // A producer that sends again: to the same lane, where order means something.
    const again = letters.length > 0 && dice.chance(0.15) ? dice.pick(letters) : undefined;
    letters.push({ n, key: again?.key ?? `${kind} ${n}`, lane: again?.lane ?? `l${dice.below(3)}` });
  }
  return letters;
}

/** Plays one schedule to its end, and returns everything that is wrong with it. */
async function play(kind: KindName, seed: number, { answer: spoiled = (answer) => answer, unguarded = false }: Spoil = {}): Promise<string[]> {
  const dice = new Dice(seed);
  const letters = lettersOf(kind, dice);
  const mapping = new EventSourceMapping(kind, letters, dice);
  const store = memoryStore();
  const failuresLeft = new Map(letters.map(({ key }) => [key, dice.chance(0.3) ? dice.between(1, 3) : 0]));
  const effects: string[] = [];
  const concurrency = KINDS[kind].order === 'lane' && !kind.includes('shard') ? { concurrency: dice.between(2, 4) } : {};

  const invoke = async (event: unknown): Promise<Outcome> => {
    const endsAt = Date.now() + (dice.chance(0.3) ? 400 : 30_000);
    const killed = gate();
    const killAt = dice.chance(0.2) ? dice.between(1, 4) : Number.POSITIVE_INFINITY;
    let entered = 0;
    const options: EachOptions<BatchRecord> = {
      store: unguarded ? memoryStore() : store,
      operation: 'orders/take',
      key: keyOf,
      onItemFailed: () => {},
      ...concurrency,
    };
    const consume = idempotentEach<BatchRecord>(options, async (record) => {
      entered += 1;
      if (entered >= killAt) {
        killed.open();
        return new Promise(() => {});
      }
      vi.advanceTimersByTime(dice.between(0, 100));
      if (dice.chance(0.5)) await new Promise(setImmediate);
      const key = keyOf(record);
      const left = failuresLeft.get(key) ?? 0;
      failuresLeft.set(key, left - 1);
      if (left > 0) throw new Error('not yet');
      effects.push(key);
      return undefined;
    });
    const context = lambdaContext(() => endsAt - Date.now());
    return Promise.race([
      consume(event as BatchEvent<BatchRecord>, context).then(
        (answer) => ({ answer: spoiled(answer as Answer) }),
        () => 'no answer' as const,
      ),
      // What was done before the end has reached the store; nothing else begins.
      killed.opened.then(turns).then(() => 'no answer' as const),
    ]);
  };

  let rounds = 0;
  for (; mapping.left > 0 && rounds < MOST_ROUNDS; rounds++) {
    const event = mapping.deliver();
    const [outcome] = await Promise.all([invoke(event), ...(dice.chance(0.15) ? [invoke(event)] : [])]);
    mapping.take(outcome);
    // Often sooner than the lease of what was killed ends, which is then still in flight.
    vi.advanceTimersByTime(dice.between(0, 20_000));
  }
  return [
    ...wrongWith(kind, letters, effects),
    ...(mapping.left > 0 ? ['it never ends'] : []),
    ...(mapping.misunderstood > 0 ? ['misunderstood'] : []),
  ];
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

function wrongWith(kind: KindName, letters: readonly Letter[], effects: readonly string[]): string[] {
  const wrong: string[] = [];
  for (const key of new Set(letters.map((letter) => letter.key))) {
    const times = effects.filter((effect) => effect === key).length;
    if (times === 0) wrong.push('lost');
    if (times > 1) wrong.push('done twice');
  }
  const { order } = KINDS[kind];
  if (order === 'none') return wrong;
  const lanes = new Map<string, number>();
  for (const effect of effects) {
    const { n, lane } = letters.find(({ key }) => key === effect) as Letter;
    const ordered = order === 'all' ? '' : lane;
    if (n < (lanes.get(ordered) ?? 0)) wrong.push('out of order');
    lanes.set(ordered, n);
  }
  return wrong;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: Date.UTC(2025, 0, 1) }));
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
});

const SEEDS = Array.from({ length: 60 }, (_, seed) => seed + 1);
const kinds = Object.keys(KINDS) as KindName[];

describe('a batch source under failures, deadlines, kills and double deliveries', () => {
  it.each(kinds)('I1 I3 I6 %s: nothing is lost, each is done once, in order', async (kind) => {
    for (const seed of SEEDS) expect([seed, await play(kind, seed)]).toEqual([seed, []]);
  });
});

describe('the simulation sees what it is there to see', () => {
  const found = async (kind: KindName, spoil: Spoil): Promise<Set<string>> => {
    const wrong = new Set<string>();
    for (const seed of SEEDS.slice(0, 25)) for (const what of await play(kind, seed, spoil)) wrong.add(what);
    return wrong;
  };

  it.each(kinds.filter((kind) => !kind.endsWith('MQ')))('%s: an answer that always says success loses records', async (kind) => {
    expect(await found(kind, { answer: () => ({ batchItemFailures: [] }) })).toContain('lost');
    expect(await found(kind, { answer: () => null })).toContain('lost');
  });

  it.each(['ActiveMQ', 'RabbitMQ', 'SQS standard', 'Kinesis in order of the shard'] as const)(
    '%s: without records, work is done twice',
    async (kind) => {
      expect(await found(kind, { unguarded: true })).toContain('done twice');
    },
  );

  it.each(['SQS FIFO', 'Kafka, where only what was reported comes back'] as const)(
    '%s: naming only the first that was not done loses the rest',
    async (kind) => {
      const answer = (given: Answer) => ({ batchItemFailures: given?.batchItemFailures.slice(0, 1) });
      expect(await found(kind, { answer })).toContain('lost');
    },
  );

  it.each(['Kinesis in order of the shard', 'DynamoDB stream in order of items'] as const)(
    '%s: an empty identifier brings the whole batch back',
    async (kind) => {
      const answer = (given: Answer) => ({ batchItemFailures: given?.batchItemFailures.map(() => ({ itemIdentifier: '' })) });
      expect([...(await found(kind, { answer }))]).toEqual(['misunderstood']);
    },
  );
});
