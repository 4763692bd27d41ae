/**
 * The promises of the design, shown on a real store, in real time, through the public functions.
 *
 * @module
 */
import { afterAll, beforeAll, describe, vi } from 'vitest';
import { casesOver, type Fresh } from './promises-case.ts';
import { commitPromises } from './promises-commit.ts';
import { doubtPromises } from './promises-doubt.ts';
import { hygienePromises } from './promises-hygiene.ts';
import { outcomePromises } from './promises-outcomes.ts';
import { ownerPromises } from './promises-owners.ts';
import { personPromises } from './promises-person.ts';
import { policyPromises } from './promises-policies.ts';
import { refusalPromises } from './promises-refusals.ts';
import { takeoverPromises } from './promises-takeover.ts';
import type { StoreSubject, SubjectKind } from './stores.ts';

export interface Promised {
  readonly fresh: Fresh;
  subject(): StoreSubject;
  readonly uncertaintyMs: number;
  readonly remote: boolean;
}

export function promises({ name, start, uncertaintyMs, remote }: SubjectKind): void {
  // Most cases wait for a lease to run out; waiting costs nothing, so they wait together.
  vi.setConfig({ maxConcurrency: 16 });
  describe(`the promises on ${name}`, () => {
    let started: StoreSubject | undefined;
    const subject = (): StoreSubject => {
      if (started === undefined) throw new Error('the store was not started');
      return started;
    };
    beforeAll(async () => {
      started = await start();
    });
    afterAll(() => started?.stop());

    const promised: Promised = { fresh: casesOver(subject), subject, uncertaintyMs, remote };
    hygienePromises(promised, () => {
      outcomePromises(promised);
      refusalPromises(promised);
      policyPromises(promised);
      personPromises(promised);
      ownerPromises(promised);
      takeoverPromises(promised);
      doubtPromises(promised);
      commitPromises(promised);
    });
  });
}
