import { promises } from '../support/promises.ts';
import { memory } from '../support/stores.ts';

promises(memory);
