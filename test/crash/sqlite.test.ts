import { databaseFolder } from '../support/sqlite-file.ts';
import { crashSuite } from './suite.ts';

crashSuite('SQLite', async () => {
  const { path, remove } = await databaseFolder();
  return { place: { kind: 'sqlite', path }, stop: remove };
});
