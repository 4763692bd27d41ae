/**
 * S10: `rerunsafe` by another user. Nobody else may be let into the folder that the code lies in, so all of it is found and loaded before.
 *
 * @module
 */
import { main } from '../../src/cli/cli.ts';
import { openPlace } from '../../src/cli/places/open.ts';
import '../../src/cli/run/told.ts';

const { AS_UID, AS_GID, RERUNSAFE_STORE = '' } = process.env;

const place = await openPlace(RERUNSAFE_STORE, process.env);
await place.leases.read('nobody');
await place.close();
// Its first steps, in which it reads its own version, are taken at once; the place it comes to later.
const ended = main(process.argv);
if (AS_UID !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(AS_GID));
  process.setuid?.(Number(AS_UID));
}
await ended;
