import { postgresAvailable } from '../../support/postgres.ts';
import { ALL, ON_SERVERS } from './kills/plan.ts';
import { proxied } from './kills/servers.ts';
import { killSuite } from './kills/suite.ts';
import { sqlite } from './places.ts';

killSuite('SQLite', ALL, sqlite.start);
if (await postgresAvailable()) killSuite('PostgreSQL', ON_SERVERS, proxied.postgres);
killSuite('Azure tables', ON_SERVERS, proxied.tables);
