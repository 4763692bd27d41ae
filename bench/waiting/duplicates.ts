/**
 * Duplicates of a run that is under way: each waits for its outcome.
 *
 * @module
 */
import { runOnce } from 'rerunsafe';
import type { Counted } from '../measure/counted-stores.ts';

export const OPERATION = 'bench/slow';
export const VALUE = { charged: true };
/** More than any run here takes. */
const WAIT_MS = 60_000;

export interface Answers {
  /** Epoch ms with parts: comparable between processes of one machine. */
  readonly answeredAtMs: readonly number[];
  /** Sent to the store by all of them. */
  readonly requests: number;
  /** Work that was started although another had it. */
  readonly ran: number;
}

/** Epoch ms with parts. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

export async function duplicates({ store, requests }: Counted, key: string, count: number): Promise<Answers> {
  const before = requests();
  let ran = 0;
  const work = async () => {
    ran += 1;
    return VALUE;
  };
  const answer = async (): Promise<number> => {
    await runOnce({ store, operation: OPERATION, key, onInFlight: { waitMs: WAIT_MS } }, work);
    return nowMs();
  };
  const answeredAtMs = await Promise.all(Array.from({ length: count }, answer));
  return { answeredAtMs, requests: requests() - before, ran };
}
