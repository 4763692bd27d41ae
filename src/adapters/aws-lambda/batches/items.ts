/**
 * The records of a batch, each with its key.
 *
 * @module
 */
import type { Call } from '../../../core/guard.ts';
import { hashParts, keyParts, scopeParts } from '../../../core/key.ts';
import type { Place } from './sources/source.ts';

/** `error`: its key could not be taken; this record fails, the others go on. */
export type Item<R> = Place<R> & ({ readonly call: Call; readonly key: string } | { readonly error: unknown; readonly key?: undefined });

export const itemsOf = <R>(operation: string, places: readonly Place<R>[], callOf: (record: R) => Promise<Call>): Promise<Item<R>[]> =>
  Promise.all(
    places.map(async (place) => {
      try {
        const call = await callOf(place.record);
        return { ...place, call, key: hashParts('key', scopeParts(call.scope, operation), keyParts(call.key, operation)) };
      } catch (error) {
        return { ...place, error };
      }
    }),
  );
