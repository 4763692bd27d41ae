import { memory, redises, sqlite } from '../support/stores.ts';
import { valuesOn } from './suite.ts';

valuesOn(memory);
valuesOn(sqlite);
for (const kind of await redises()) valuesOn(kind);
