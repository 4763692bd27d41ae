import { promises } from '../support/promises.ts';
import { race } from '../support/promises-race.ts';
import { postgreses } from '../support/stores.ts';

for (const kind of await postgreses()) {
  promises(kind);
  race(kind, { refusing: 100, waiting: 10 });
}
