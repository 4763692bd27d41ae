import { postgreses } from '../support/stores.ts';
import { valuesOn } from './suite.ts';

for (const kind of await postgreses()) valuesOn(kind);
