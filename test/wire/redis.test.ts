import { redises } from '../support/stores.ts';
import { wireSuite } from './suite.ts';

for (const kind of await redises()) wireSuite(kind);
