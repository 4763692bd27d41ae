/**
 * A hundred messages in one invocation, against one message: `idempotentEach` on each store.
 *
 * @module
 */
import { TableClient } from '@azure/data-tables';
import type { Pool } from 'pg';
import { createClient } from 'redis';
import type { RecordStore } from 'rerunsafe';
import { idempotentEach } from 'rerunsafe/aws-lambda';
import { tableStore } from 'rerunsafe/azure-tables';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import { postgresStore } from 'rerunsafe/postgres';
import { redisStore } from 'rerunsafe/redis';
import { sqliteStore } from 'rerunsafe/sqlite';
import { lambdaContext, sqsEvent } from '../../test/support/aws-events.ts';
import { startAzurite } from '../../test/support/azurite.ts';
import { javaAvailable, startDynamoDbLocal } from '../../test/support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../../test/support/postgres.ts';
import { redisAvailable, startRedis } from '../../test/support/redis.ts';
import { databaseFolder } from '../../test/support/sqlite-file.ts';
import { type Compared, interleaved, type Subject } from '../measure/interleaved.ts';
import { told } from '../measure/spread.ts';
import type { Figure, Section } from '../section.ts';

export const MESSAGES = 100;
const ROUNDS = 30;
const GOAL = 5;

interface Place {
  readonly store: RecordStore;
  /** Statements so far, where they can be counted. */
  readonly statements?: () => number;
  readonly stop: () => Promise<void>;
}

const PLACES: Readonly<Record<string, () => Promise<Place | undefined>>> = {
  async PostgreSQL() {
    if (!(await postgresAvailable())) return undefined;
    const server = await startPostgres();
    const database = await server.database();
    const pool = database.pool();
    return { store: postgresStore({ pool, preparedStatements: true }), statements: countedOn(pool), stop: () => server.stop() };
  },
  async SQLite() {
    const folder = await databaseFolder();
    const store = sqliteStore({ path: folder.path });
    return {
      store,
      async stop() {
        await store.close();
        await folder.remove();
      },
    };
  },
  async Redis() {
    if (!redisAvailable()) return undefined;
    const server = await startRedis();
    const client = createClient({ url: server.url });
    await client.connect();
    return {
      store: redisStore({ client }),
      async stop() {
        client.destroy();
        await server.stop();
      },
    };
  },
  async 'DynamoDB Local'() {
    if (!(await javaAvailable())) return undefined;
    const { endpoint, stop } = await startDynamoDbLocal();
    const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
    const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
    const client = new DynamoDBClient({ endpoint, region: 'local', credentials });
    return {
      store: dynamodbStore({ client, tableName: 'bench' }),
      async stop() {
        client.destroy();
        await stop();
      },
    };
  },
  async 'Table Storage'() {
    const azurite = await startAzurite({ services: ['table'] });
    const client = TableClient.fromConnectionString(azurite.connectionString, 'bench', { allowInsecureConnection: true });
    return {
      store: tableStore({ client }),
      stop: () => azurite.stop(),
    };
  },
};

function countedOn(pool: Pool): () => number {
  let statements = 0;
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    Object.assign(client, {
      query: (...given: unknown[]) => {
        statements += 1;
        return query(...given);
      },
    });
  });
  return () => statements;
}

/** Each message new in each call: all of them are first runs. */
const batchOf = (store: RecordStore, messages: number): Subject => {
  const consume = idempotentEach({ store, operation: `bench/${messages}`, key: (record) => record.body, concurrency: messages }, () => 'done');
  return async (times, round) => {
    for (let n = 0; n < times; n++) {
      const event = sqsEvent(...Array.from({ length: messages }, (_, message) => ({ body: `${round} ${n} ${message}` })));
      const { batchItemFailures } = (await consume(event, lambdaContext())) as { batchItemFailures: unknown[] };
      if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} of ${messages} messages were not done`);
    }
  };
};

const BATCH = `${MESSAGES} messages`;
const ONE = 'one message';

async function statementsOf({ statements }: Place, subject: Subject, round: string): Promise<string> {
  if (statements === undefined) return '';
  const before = statements();
  await subject(1, round);
  return String(statements() - before);
}

async function measured(place: Place, share: number): Promise<{ compared: Compared; statements: string }> {
  const { store } = place;
  await store.setUp?.();
  const subjects = { [BATCH]: batchOf(store, MESSAGES), [ONE]: batchOf(store, 1) };
  const compared = await interleaved(subjects, { rounds: Math.max(2, Math.round(ROUNDS * share)), times: 1, warmUp: share < 1 ? 1 : 5 });
  return { compared, statements: await statementsOf(place, subjects[BATCH] as Subject, 'counted') };
}

export const section: Section = {
  name: 'batches',
  async measure({ share }) {
    const rows: string[][] = [];
    const figures: Figure[] = [];
    for (const [name, open] of Object.entries(PLACES)) {
      const place = await open();
      if (place === undefined) continue;
      try {
        const { compared, statements } = await measured(place, share);
        const ratio = compared.ratio(BATCH, ONE);
        const ms = (subject: string): string => ((compared.us[subject]?.median ?? Number.NaN) / 1_000).toFixed(2);
        rows.push([name, told(ratio, 1), ms(BATCH), ms(ONE), statements]);
        const { median: value, low, high } = ratio;
        figures.push({
          name: `a batch of ${MESSAGES} ÷ one message, ${name}`,
          value,
          low,
          high,
          unit: '×',
          ...(name === 'PostgreSQL' ? { goal: GOAL } : {}),
        });
      } finally {
        await place.stop();
      }
    }
    return {
      tables: [
        {
          title: `An invocation with ${MESSAGES} messages, all new, worked on at once`,
          columns: ['', 'batch ÷ one message', 'batch, ms', 'one, ms', 'statements of the batch'],
          rows,
          note: 'PostgreSQL and SQLite take all claims in one statement or transaction, and all completions; the clients of Redis send what begins in one turn as one pipeline; DynamoDB and Table Storage have no conditional write of several items that are not all or nothing, so they are asked for each message, side by side.',
        },
      ],
      figures,
    };
  },
};
