import { lostAnswersSuite } from './lost-suite.ts';
import { tablePlace } from './places.ts';

lostAnswersSuite('Table Storage', tablePlace);
