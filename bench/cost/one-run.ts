/**
 * The run that is paid for: a first run and its replay.
 *
 * @module
 */
import { type RecordStore, runOnce } from 'rerunsafe';
import { incompressible } from '../../test/support/incompressible.ts';

/** As long as names are in practice. */
const OPERATION = 'payments/charge';
/** What JSON puts around the text. */
const AROUND = JSON.stringify({ id: '' }).length;

/** `resultBytes`: of its JSON. */
export async function firstRun(store: RecordStore, key: string, resultBytes: number): Promise<string> {
  let id = '';
  await runOnce({ store, operation: OPERATION, scope: 'tenant-4711', key, input: { order: key, amount: 12_300 } }, ({ fence }) => {
    id = fence?.id ?? '';
    return { id: incompressible(resultBytes - AROUND) };
  });
  return id;
}

export async function replay(store: RecordStore, key: string): Promise<void> {
  await runOnce({ store, operation: OPERATION, scope: 'tenant-4711', key, input: { order: key, amount: 12_300 } }, () =>
    Promise.reject(new Error('it ran again')),
  );
}

export const keyOf = (n: number): string => `order-2025-${String(n).padStart(8, '0')}`;
