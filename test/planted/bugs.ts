/**
 * All planted bugs.
 *
 * @module
 */
import type { PlantedBug } from './bug.ts';
import { CLAIMS } from './bugs/claims.ts';
import { LEASES } from './bugs/leases.ts';
import { OUTCOMES } from './bugs/outcomes.ts';
import { PEOPLE } from './bugs/people.ts';
import { STORES } from './bugs/stores.ts';
import { TRACK_RECORD } from './bugs/track-record.ts';

export const BUGS: readonly PlantedBug[] = [...CLAIMS, ...OUTCOMES, ...PEOPLE, ...LEASES, ...STORES, ...TRACK_RECORD];
