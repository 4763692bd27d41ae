import { azureTables } from '../support/stores.ts';
import { wireSuite } from './suite.ts';

wireSuite(azureTables);
