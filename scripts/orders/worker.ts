/**
 * A process that takes orders, several at once, and may die over any of them.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { fulfil } from '../../functions/orders/fulfil.ts';
import { httpShop, type Shop, type ShopOptions } from '../../functions/orders/shop.ts';
import { isRerunSafeError } from '../../src/index.ts';
import { Dice } from '../../test/simulation/world.ts';
import { placeGiven, storeReady } from '../scenarios/place.ts';
import { Deaths } from './deaths.ts';
import type { Failure, Handed, Said } from './process.ts';

/** As its parent tells it, in `TASK`. */
export interface Task {
  readonly shop: ShopOptions;
  readonly leaseMs: number;
  readonly seed: number;
  /** The file in which deaths are noted. */
  readonly notes: string;
  /** False for a control: each call has a key of its own, as where the derived one is not passed on. */
  readonly keys: boolean;
}

const task = JSON.parse(process.env.TASK ?? '{}') as Task;
const deaths = new Deaths(new Dice(task.seed), task.notes);
const store = deaths.store(await storeReady(placeGiven()));
const shop = deaths.shop(task.keys ? httpShop(task.shop) : forgetful(httpShop(task.shop)));

const say = (said: Said): void => void process.send?.(said);
const failureOf = (error: unknown): Failure => ({ kind: 'failed', ...(isRerunSafeError(error) && { code: error.code }) });

process.on('disconnect', () => process.exit());
process.on('message', ({ n, order }: Handed) => {
  fulfil(order, shop, { store, leaseMs: task.leaseMs }).then(
    (receipt) => say({ n, receipt }),
    (error: unknown) => say({ n, failure: failureOf(error) }),
  );
});
say('ready');

function forgetful(shop: Shop): Shop {
  return {
    charge: (order) => shop.charge(order, randomUUID()),
    ship: (order, _reference, untilMs) => shop.ship(order, randomUUID(), untilMs),
    findParcel: () => shop.findParcel(randomUUID()),
    mail: (mail) => shop.mail(mail, randomUUID()),
  };
}
