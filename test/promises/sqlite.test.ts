import { promises } from '../support/promises.ts';
import { race } from '../support/promises-race.ts';
import { sqlite } from '../support/stores.ts';

promises(sqlite);
race(sqlite, { refusing: 100, waiting: 10 });
