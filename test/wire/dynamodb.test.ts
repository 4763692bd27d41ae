import { dynamodbs } from '../support/stores.ts';
import { wireSuite } from './suite.ts';

for (const kind of await dynamodbs()) wireSuite(kind);
