import { describe, expect, it } from 'vitest';
import { PLANTED, PROMISES, REACHABLE } from './properties.ts';
import { checked, line, spinAvailable } from './run.ts';

const LIMIT_MS = 120_000;
const inSeconds = PROMISES.filter(({ long }) => long !== true);

// One after the other: others on this machine go by the clock.
describe.runIf(spinAvailable())('the protocol as a model, in every interleaving', { timeout: LIMIT_MS }, () => {
  for (const property of inSeconds) {
    it(`${property.model}: ${property.shows}`, async () => {
      const result = await checked(property);
      expect(result.asExpected, line(result)).toBe(true);
      expect(result.states).toBeGreaterThan(1_000);
    });
  }

  for (const property of REACHABLE) {
    it(`${property.model}: can happen, and is found: ${property.shows}`, async () => {
      const result = await checked(property);
      expect(result.asExpected, line(result)).toBe(true);
    });
  }

  for (const property of PLANTED) {
    it(`${property.model}: is found where it is planted: ${property.shows}`, async () => {
      const result = await checked(property);
      expect(result.asExpected, line(result)).toBe(true);
    });
  }
});
