import { afterAll, beforeAll, describe } from 'vitest';
import { casesOver } from '../support/promises-case.ts';
import { azureTables, dynamodbs, postgreses, redises, type StoreSubject, sqlite } from '../support/stores.ts';
import { racingOwners } from './race.ts';
import { staleOwners } from './stale.ts';

for (const kind of [azureTables, ...(await dynamodbs()).slice(0, 1), ...(await postgreses()), ...(await redises()), sqlite]) {
  describe.concurrent(`two owners and five steps on ${kind.name}`, () => {
    let subject: StoreSubject;
    beforeAll(async () => {
      subject = await kind.start();
    });
    afterAll(() => subject?.stop());
    const fresh = casesOver(() => subject);
    staleOwners(fresh);
    racingOwners(kind.name, fresh);
  });
}
