import { promises } from '../support/promises.ts';
import { azureTables } from '../support/stores.ts';

promises(azureTables);
