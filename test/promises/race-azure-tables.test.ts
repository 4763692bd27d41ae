import { race } from '../support/promises-race.ts';
import { azureTables } from '../support/stores.ts';

race(azureTables, { refusing: 100, waiting: 10 });
