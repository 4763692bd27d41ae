/**
 * Event source mappings as Lambda's documentation describes them: what is delivered, and what an answer makes come back.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import type { Dice } from '../simulation/world.ts';
import { sqsEvent } from './aws-events.ts';
import { activeMqEvent, dynamodbNumber, dynamodbStreamEvent, kafkaEvent, kinesisEvent, kinesisNumber, rabbitMqEvent } from './aws-source-events.ts';

/** One delivery to be made; `n` is its place in the source, from 1, and the body of the message is `key`. */
export interface Letter {
  readonly n: number;
  readonly key: string;
  /** Group, partition key, item or partition. */
  readonly lane: string;
}

/** What became of an invocation. A throw, a time-out and a killed sandbox look the same from here. */
export type Outcome = { readonly answer: unknown } | 'no answer';

interface Kind {
  /** What an event is made of: a choice from what is left, in order. */
  readonly pick: (left: readonly Letter[], dice: Dice) => readonly Letter[];
  readonly eventOf: (batch: readonly Letter[]) => unknown;
  /** undefined: answers are not looked at. */
  readonly identifierOf?: (letter: Letter) => unknown;
  /** What comes back when these were reported. */
  readonly returned: (batch: readonly Letter[], reported: readonly Letter[]) => readonly Letter[];
  /** In order as a whole, within a lane, or not at all. */
  readonly order: 'all' | 'lane' | 'none';
}

const most = 6;
const firsts = (left: readonly Letter[], dice: Dice): readonly Letter[] => left.slice(0, dice.between(1, most));
const number = ({ lane }: Letter): number => Number(lane.slice(1));

/** Any of the messages, in any order, some of them twice: a standard queue promises no more. */
const anyOf = (left: readonly Letter[], dice: Dice): readonly Letter[] => {
  const rest = [...left];
  return Array.from({ length: Math.min(rest.length, dice.between(1, most)) }, () => rest.splice(dice.below(rest.length), 1)).flat();
};
/** The next of one lane and another, mixed. */
const ofLanes = (left: readonly Letter[], dice: Dice): readonly Letter[] => {
  const lanes = new Map<string, Letter[]>();
  for (const letter of left) lanes.set(letter.lane, [...(lanes.get(letter.lane) ?? []), letter]);
  const batch: Letter[] = [];
  for (const size = dice.between(1, most); batch.length < size && lanes.size > 0; ) {
    const lane = dice.pick([...lanes.keys()]);
    const next = lanes.get(lane)?.shift();
    if (next === undefined) lanes.delete(lane);
    else batch.push(next);
  }
  return batch;
};

const reportedOnly: Kind['returned'] = (batch, reported) => batch.filter((letter) => reported.includes(letter));
/** "Lambda uses the record with the lowest sequence number as the checkpoint", within each lane or in the whole batch. */
const fromLowest =
  (laneOf: (letter: Letter) => string): Kind['returned'] =>
  (batch, reported) =>
    batch.filter((letter) => reported.some((failed) => laneOf(failed) === laneOf(letter) && failed.n <= letter.n));

const queue = (group: boolean): Pick<Kind, 'eventOf' | 'identifierOf' | 'returned'> => ({
  eventOf: (batch) => ({
    Records: sqsEvent(...batch.map(({ key, lane }) => ({ body: key, ...(group ? { group: lane } : {}) }))).Records.map((record, index) => ({
      ...record,
      messageId: `m${batch[index]?.n}`,
    })),
  }),
  identifierOf: ({ n }) => `m${n}`,
  returned: reportedOnly,
});
const streamed = (batch: readonly Letter[]) => batch.map(({ n, key, lane }) => ({ body: key, of: lane, n }));
const kinesis: Omit<Kind, 'order'> = {
  pick: firsts,
  eventOf: (batch) => kinesisEvent(...streamed(batch)),
  identifierOf: ({ n }) => kinesisNumber(n),
  returned: fromLowest(() => ''),
};
const dynamodb: Omit<Kind, 'order'> = {
  ...kinesis,
  eventOf: (batch) => dynamodbStreamEvent(...streamed(batch)),
  identifierOf: ({ n }) => dynamodbNumber(n),
};
const kafka: Omit<Kind, 'returned'> = {
  pick: ofLanes,
  eventOf: (batch) => kafkaEvent(...batch.map((letter) => ({ body: letter.key, partition: number(letter), offset: letter.n }))),
  identifierOf: (letter) => ({ partition: `orders-${number(letter)}`, offset: letter.n }),
  order: 'lane',
};
const broker: Omit<Kind, 'eventOf'> = { pick: firsts, returned: (batch) => batch, order: 'none' };
const bodies = (batch: readonly Letter[]): string[] => batch.map(({ key }) => key);

export const KINDS = {
  'SQS standard': { ...queue(false), pick: anyOf, order: 'none' },
  'SQS FIFO': { ...queue(true), pick: ofLanes, order: 'lane' },
  'Kinesis in order of the shard': { ...kinesis, order: 'all' },
  'Kinesis in order of partition keys': { ...kinesis, order: 'lane' },
  'DynamoDB stream in order of the shard': { ...dynamodb, order: 'all' },
  'DynamoDB stream in order of items': { ...dynamodb, order: 'lane' },
  'Kafka, where only what was reported comes back': { ...kafka, returned: reportedOnly },
  'Kafka, where the lowest offset is a checkpoint': { ...kafka, returned: fromLowest(({ lane }) => lane) },
  ActiveMQ: { ...broker, eventOf: (batch) => activeMqEvent(bodies(batch)) },
  RabbitMQ: { ...broker, eventOf: (batch) => rabbitMqEvent(bodies(batch)) },
} satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;

export class EventSourceMapping {
  readonly #kind: Kind;
  readonly #dice: Dice;
  #left: readonly Letter[];
  #batch: readonly Letter[] = [];
  /** Answers that were not understood, so that the whole batch came back. */
  misunderstood = 0;

  constructor(kind: KindName, letters: readonly Letter[], dice: Dice) {
    this.#kind = KINDS[kind];
    this.#left = letters;
    this.#dice = dice;
  }

  get left(): number {
    return this.#left.length;
  }

  /** The next event. */
  deliver(): unknown {
    this.#batch = this.#kind.pick(this.#left, this.#dice);
    return this.#kind.eventOf(this.#batch);
  }

  /** Takes the answer to the event that was delivered last. */
  take(outcome: Outcome): void {
    const returned = outcome === 'no answer' ? this.#batch : this.#returned(outcome.answer);
    this.#left = this.#left.filter((letter) => !this.#batch.includes(letter) || returned.includes(letter));
  }

  #returned(answer: unknown): readonly Letter[] {
    const { identifierOf, returned } = this.#kind;
    // "An empty or null list, an empty or null response": a complete success.
    const failures = (answer as { readonly batchItemFailures?: unknown } | null | undefined)?.batchItemFailures ?? [];
    if (identifierOf === undefined || !Array.isArray(failures) || failures.length === 0) return [];
    const reported = failures.map((failure) => {
      const identifier = (failure as { readonly itemIdentifier?: unknown } | null)?.itemIdentifier;
      return this.#batch.find((letter) => isDeepStrictEqual(identifierOf(letter), identifier));
    });
    if (!reported.includes(undefined)) return returned(this.#batch, reported as Letter[]);
    // "An empty or null identifier, a bad key name", one that is not in the batch: a complete failure.
    this.misunderstood += 1;
    return this.#batch;
  }
}
