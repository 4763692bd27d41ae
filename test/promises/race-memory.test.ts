import { race } from '../support/promises-race.ts';
import { memory } from '../support/stores.ts';

race(memory, { refusing: 100, waiting: 20 });
