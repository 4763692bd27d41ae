/**
 * `set-up`: makes the table, file, folder or container of a store. Once for each, when deploying; again does no harm.
 *
 * @module
 */
import { isRerunSafeError } from '../../core/errors.ts';
import { EXIT } from '../exit-codes.ts';
import type { Out } from '../out.ts';
import { look } from '../places/check-store.ts';
import type { OpenPlace } from '../places/open.ts';

/**
 * With `--json`: `{ store, made }`.
 *
 * @throws RerunSafeError `STORE_UNAVAILABLE`; `STORE_MISCONFIGURED` where it may not be made.
 */
export async function setUp(place: OpenPlace, out: Out): Promise<number> {
  const made = !(await isThere(place));
  await (place.store === undefined ? place.leases.setUp?.() : place.store.setUp?.());
  if (out.isJson) out.json({ store: place.shown, made });
  else out.print(made ? `${place.shown} is set up now.` : `${place.shown} was set up already; nothing is missing.`);
  return EXIT.ok;
}

async function isThere(place: OpenPlace): Promise<boolean> {
  try {
    await look(place);
    return true;
  } catch (error) {
    // It would only say the same again, after another wait.
    if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw error;
    return false;
  }
}
