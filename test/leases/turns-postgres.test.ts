import { describe } from 'vitest';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { turnsSuite } from './turns.ts';

describe.runIf(await postgresAvailable())('PostgreSQL', () => {
  for (const byRow of [false, true]) {
    turnsSuite({
      provider: `PostgreSQL, ${byRow ? 'each row with a token of its own' : "the lease's row asked"}`,
      async start() {
        const server = await startPostgres();
        const { url } = await server.database();
        return { place: { kind: 'postgres', url, byRow }, stop: server.stop };
      },
      inCi: 'short',
      leaseMs: 600,
      lapseMs: 0,
      pollMs: 15,
      lateEvery: 10,
      adds: true,
      kills: [5, 15],
      stops: [5, 15],
      strikes: [3, 15],
    });
  }
});
