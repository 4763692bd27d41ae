import { postgreses } from '../support/stores.ts';
import { wireSuite } from './suite.ts';

for (const kind of await postgreses()) wireSuite(kind);
