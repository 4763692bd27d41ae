import { describe } from 'vitest';
import { postgresOutbox } from '../../src/stores/postgres/outbox.ts';
import { insertMessages } from '../../src/stores/postgres/outbox-insert.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { placeSuite } from './place-suite.ts';

describe.runIf(await postgresAvailable())('on PostgreSQL', () => {
  placeSuite('PostgreSQL', async () => {
    const server = await startPostgres();
    const database = await server.database();
    const pool = database.pool();
    return {
      outbox: postgresOutbox({ pool }),
      write: (messages) => inTransaction(pool, {}, (tx) => insertMessages({ query: (text, values) => tx.query(text, values) }, messages)),
      timePasses: async () => void (await pool.query('UPDATE rerunsafe_outbox SET due_at_ms = least(due_at_ms, 1)')),
      async stop() {
        await database.drop();
        await server.stop();
      },
    };
  });
});
