/**
 * Duplicates in a process of their own: opens the store when told where it is, then waits for a run each time it is told of one.
 *
 * @module
 */
import { type Counted, open, type Place } from '../measure/counted-stores.ts';
import { type Answers, duplicates } from './duplicates.ts';

export type Order = { readonly place: Place } | { readonly key: string; readonly count: number };
export type Report = 'ready' | Answers;

let counted: Counted | undefined;
const tell = (report: Report): void => void process.send?.(report);

process.on('message', (order: Order) => {
  const done = 'place' in order ? ready(order.place) : answered(order.key, order.count);
  done.catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit(0));

async function ready(place: Place): Promise<void> {
  counted = await open(place);
  // Its connections and scripts are there before the first run is measured.
  await duplicates(counted, `warm ${process.pid}`, 20);
  tell('ready');
}

async function answered(key: string, count: number): Promise<void> {
  if (counted === undefined) throw new Error('there is no store yet');
  tell(await duplicates(counted, key, count));
}
