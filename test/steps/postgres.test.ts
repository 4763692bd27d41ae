import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { killSuite } from './kills.ts';

if (await postgresAvailable()) {
  killSuite('PostgreSQL', async () => {
    const server = await startPostgres();
    const { url } = await server.database();
    return { place: { kind: 'postgres', url }, stop: () => server.stop() };
  });
}
