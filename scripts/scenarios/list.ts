/**
 * The scenarios that can be shown.
 *
 * @module
 */
import { s1 } from './s1.ts';
import { s2 } from './s2.ts';
import { s3 } from './s3.ts';
import { s4 } from './s4.ts';
import { s5 } from './s5.ts';
import { s6 } from './s6.ts';
import { s7 } from './s7.ts';
import { s8 } from './s8.ts';
import { s9 } from './s9.ts';
import { s10 } from './s10.ts';
import { s11 } from './s11.ts';
import { s12 } from './s12.ts';
import { s13 } from './s13.ts';
import type { Scenario } from './scenario.ts';

export const SCENARIOS: readonly Scenario[] = [s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13];
