import { azureTables } from '../support/stores.ts';
import { valuesOn } from './suite.ts';

valuesOn(azureTables);
