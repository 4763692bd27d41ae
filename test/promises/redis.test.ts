import { promises } from '../support/promises.ts';
import { race } from '../support/promises-race.ts';
import { redises } from '../support/stores.ts';

for (const kind of await redises()) {
  promises(kind);
  race(kind, { refusing: 100, waiting: 10 });
}
