/**
 * Fences as stores meet them: checked, led back to the row they are of, and refused in the same words everywhere.
 *
 * @module
 */
import { RerunSafeError, storeMisconfigured } from './errors.ts';
import { checkOptions, isInteger, isName } from './options.ts';
import type { Fence } from './ports.ts';
import type { RecordId } from './record.ts';
import { leaseRowId } from './store-leases.ts';

const RECORD_ID = /^r1_[\w-]{43}$/;
const RULES = { id: isName(4096), owner: isName(4096), token: isInteger(0) };

/**
 * It may have travelled in a message, with whatever else that carries.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 */
export function checkFence(fence: unknown): void {
  const { id, owner, token } = (fence ?? {}) as Partial<Fence>;
  checkOptions('fence', { id, owner, token }, RULES, ['id', 'owner', 'token']);
}

/** What looks like a record's id is one; anything else is a lease's name. */
export const rowIdOf = (fenceId: string): RecordId => (RECORD_ID.test(fenceId) ? fenceId : leaseRowId(fenceId));

/**
 * What counts is whether somebody else has taken the row: one that ran out, and that nobody has taken since, still is its last holder's.
 *
 * @param place where it was looked for: `the table rerunsafe`
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`; `STORE_MISCONFIGURED` where there is no such row: rows of leases are
 * never removed, so it is the wrong place.
 */
export function mustHold({ id, owner, token }: Fence, standing: { readonly owner: string; readonly token: number } | undefined, place: string): void {
  if (standing?.owner === owner && standing.token === token) return;
  if (standing === undefined) {
    throw storeMisconfigured(
      `nothing is kept under the name ${id} in ${place} (any more). The fence must come from storeLeases (or runOnce) over a store of this very table, with the options (tableName, partitions) that it has there.`,
    );
  }
  const storedToken = standing.token;
  throw new RerunSafeError(
    'STALE_TOKEN',
    `Somebody else has taken ${id} (token ${storedToken} stands there, ours is ${token}). Nothing was written: the lease is over, stop the work.`,
    { facts: { id, token, storedToken } },
  );
}
