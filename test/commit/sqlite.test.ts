import { sqlitePlace } from './places.ts';
import { commitSuite } from './suite.ts';

commitSuite('SQLite', sqlitePlace, {
  good: () => () => {},
  items: [
    ['an array instead of work', () => []],
    ['no work', () => undefined],
    ['an async function', () => async () => {}],
    [
      'work that returns a promise',
      (row) => (db: { prepare(sql: string): { run(...values: unknown[]): void } }) => {
        db.prepare('INSERT INTO line VALUES (?, NULL)').run(row);
        return Promise.reject(new Error('nobody hears of it'));
      },
    ],
  ],
});
