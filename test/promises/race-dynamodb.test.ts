import { race } from '../support/promises-race.ts';
import { dynalite, dynamodbs } from '../support/stores.ts';

// Dynalite answers in this process, one request after the other: it gets fewer rounds.
for (const kind of await dynamodbs()) race(kind, { refusing: kind === dynalite ? 30 : 100, waiting: kind === dynalite ? 4 : 10 });
