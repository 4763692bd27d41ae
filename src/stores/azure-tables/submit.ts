/**
 * One try of a transaction, and what became of it.
 *
 * @module
 */
import type { TableTransactionResponse, TransactionAction } from '@azure/data-tables';
import { isRerunSafeError, writeUnknown } from '../../core/errors.ts';
import type { Refusal } from './map-error.ts';
import type { Request } from './request.ts';

export type Submitted =
  | { readonly landed: TableTransactionResponse }
  /** `refusal`: some condition did not hold, nobody says whose. `doubt`: it may have landed, or still land. */
  | { readonly refusal: Refusal | undefined; readonly doubt: unknown };

/** Thrown: what was asked for is wrong (a property's name, a row that comes twice, the size of it all); `cause` is the SDK's own error. */
export class OfTheActions extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** @throws {@link OfTheActions}, and the store's errors but for `WRITE_UNKNOWN`. Nothing was written by this try. */
export async function submit(request: Request, what: string, actions: TransactionAction[], signal?: AbortSignal): Promise<Submitted> {
  try {
    const answer = await request(what, 'write', (table, sdk) => table.submitTransaction(actions, sdk), signal);
    if (answer.refused === 'too-large') throw new OfTheActions(answer.cause);
    if (answer.refused !== undefined) return { refusal: answer, doubt: answer.doubt ? writeUnknown(what, answer.cause) : undefined };
    // The SDK takes any 2xx for success, whatever is in it.
    if (answer.value.subResponses.length === actions.length) return { landed: answer.value };
    return inDoubt(writeUnknown(`${what}: the answer does not say what became of it`, undefined));
  } catch (error) {
    if (isRerunSafeError(error, 'WRITE_UNKNOWN')) return inDoubt(error);
    // The table is there and the credentials are good: something in it could be read before.
    if (isRerunSafeError(error, 'STORE_MISCONFIGURED') && (error.cause as { statusCode?: unknown } | undefined)?.statusCode === 400)
      throw new OfTheActions(error.cause);
    throw error;
  }
}

const inDoubt = (doubt: unknown): Submitted => ({ refusal: undefined, doubt });
