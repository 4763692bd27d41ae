import { promises } from '../support/promises.ts';
import { dynamodbs } from '../support/stores.ts';

for (const kind of await dynamodbs()) promises(kind);
