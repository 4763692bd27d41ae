import { databaseFolder } from '../support/sqlite-file.ts';
import { killSuite } from './kills.ts';

killSuite('SQLite', async () => {
  const { path, remove } = await databaseFolder();
  return { place: { kind: 'sqlite', path }, stop: remove };
});
