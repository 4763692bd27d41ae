/**
 * Rows that keep the highest token that has written them.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';
import { checkOptions, isInteger, isName } from '../../core/options.ts';
import { isIdentifier } from './names.ts';

/** The fence of a lease or run as it is, or with the column named: `{ ...lease.fence, column: 'written_by' }`. */
export interface RowFence {
  readonly token: number;
  /** A column of type `bigint` in each row, NULL where nobody has fenced it yet. Default `fence`. */
  readonly column?: string;
  /** Of the lease or record, for the message. */
  readonly id?: string;
}

const RULES = { token: isInteger(0), column: isIdentifier(), id: isName(4096) };

/**
 * It may have travelled in a message, with whatever else that carries.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 */
export function rowFence(given: unknown): Required<Omit<RowFence, 'id'>> & Pick<RowFence, 'id'> {
  const { token, column, id } = (given ?? {}) as Partial<RowFence>;
  checkOptions('fence', { token, column, id }, RULES, ['token']);
  return { token: token as number, column: column ?? 'fence', ...(id === undefined ? {} : { id }) };
}

export function staleRows({ id, token }: RowFence, storedToken: number, table: string): RerunSafeError {
  return new RerunSafeError(
    'STALE_TOKEN',
    `A newer holder${id === undefined ? '' : ` of ${id}`} has touched rows of ${table} (token ${storedToken} stands there, ours is ${token}). Nothing of this call was written: the lease is over, stop the work.`,
    { facts: { ...(id === undefined ? {} : { id }), token, storedToken, table } },
  );
}
