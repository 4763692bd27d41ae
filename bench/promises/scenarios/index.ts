/**
 * All of them, in the order of the table.
 *
 * @module
 */

import { forgotten } from './forgotten.ts';
import { killed, killedAsking, killedBlocking } from './killed.ts';
import { expired, otherPayload, sameTime } from './life.ts';
import { extend, paused, release, restarted } from './locks.ts';
import { staleFailure, staleResult } from './paused.ts';
import type { Scenario } from './scenario.ts';
import { claimLost, completionLost } from './wire.ts';

export const SCENARIOS: readonly Scenario[] = [
  sameTime,
  killed,
  killedBlocking,
  killedAsking,
  staleResult,
  staleFailure,
  claimLost,
  completionLost,
  otherPayload,
  expired,
  forgotten,
  paused,
  release,
  extend,
  restarted,
];
