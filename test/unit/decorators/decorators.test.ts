import { describe, expect, it } from 'vitest';
import { idempotent, singleton, step } from '../../../src/adapters/decorators/index.ts';
import { currentRun, type LeaseProvider, memoryStore, type RecordStore, storeLeases } from '../../../src/index.ts';

interface Order {
  readonly id: string;
  readonly cents: number;
}
const of = (id: string, cents = 5): Order => ({ id, cents });

const shared = memoryStore();

class Payments {
  readonly store: RecordStore;
  readonly calls: string[] = [];
  constructor(store: RecordStore) {
    this.store = store;
  }

  @idempotent({
    store: (self: Payments) => self.store,
    operation: 'payments/charge',
    key: (order: Order) => order.id,
    input: (order: Order) => order,
  })
  async charge(order: Order): Promise<string> {
    const charged = await this.ask(order);
    await this.mail(order);
    if (currentRun()?.attempt === 1 && order.cents === 13) throw new Error('crash');
    return charged;
  }

  @step('ask', { key: (order: Order) => order.id })
  async ask(order: Order): Promise<string> {
    this.calls.push(`ask ${order.id}`);
    return `charge of ${order.id}`;
  }

  @step('mail', { mode: 'atMostOnce' })
  async mail(order: Order): Promise<void> {
    this.calls.push(`mail ${order.id}`);
  }

  @idempotent({ store: shared, operation: 'payments/count', key: (tenant: string) => tenant, scope: (tenant: string) => [tenant] })
  static async count(tenant: string): Promise<number> {
    Payments.counted += 1;
    return tenant.length;
  }
  static counted = 0;
}

describe('@idempotent', () => {
  it('I1 I2 runs the method once for its key, on its object, and hands everybody the same outcome', async () => {
    const store = memoryStore();
    const [a, b] = [new Payments(store), new Payments(store)];
    expect(await a.charge(of('o1'))).toBe('charge of o1');
    expect(await b.charge(of('o1'))).toBe('charge of o1');
    expect(await a.charge(of('o2'))).toBe('charge of o2');
    expect([a.calls, b.calls]).toEqual([['ask o1', 'mail o1', 'ask o2', 'mail o2'], []]);
  });

  it('I9 another input under the same key is refused', async () => {
    const payments = new Payments(memoryStore());
    await payments.charge(of('o1', 5));
    await expect(payments.charge(of('o1', 6))).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  it('two objects with two stores know nothing of each other', async () => {
    const [a, b] = [new Payments(memoryStore()), new Payments(memoryStore())];
    await a.charge(of('o1'));
    await b.charge(of('o1'));
    expect([a.calls.length, b.calls.length]).toEqual([2, 2]);
  });

  it('stands on static methods too', async () => {
    expect([await Payments.count('acme'), await Payments.count('acme')]).toEqual([4, 4]);
    expect(Payments.counted).toBe(1);
  });

  it('a key that is not there is refused, and nothing is run', async () => {
    const payments = new Payments(memoryStore());
    await expect(payments.charge({ cents: 5 } as never)).rejects.toMatchObject({ code: 'MISSING_KEY' });
    expect(payments.calls).toEqual([]);
  });
});

describe('@step', () => {
  it('what an attempt has finished is not done again by the next one', async () => {
    const payments = new Payments(memoryStore());
    await expect(payments.charge(of('o1', 13))).rejects.toThrow('crash');
    expect(await payments.charge(of('o1', 13))).toBe('charge of o1');
    expect(payments.calls).toEqual(['ask o1', 'mail o1']);
  });

  it('outside of a run it is refused, and nothing is called', async () => {
    const payments = new Payments(memoryStore());
    await expect(payments.ask(of('o1'))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(payments.calls).toEqual([]);
  });
});

const skipped: string[] = [];

class Reports {
  readonly leases: LeaseProvider;
  runs = 0;
  constructor(leases: LeaseProvider) {
    this.leases = leases;
  }
  @singleton({
    leases: (self: Reports) => self.leases,
    name: 'reports/nightly',
    slot: (night: string) => night,
    onSkipped: ({ kind }) => skipped.push(kind),
  })
  async nightly(night: string): Promise<string | undefined> {
    this.runs += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
    return night;
  }
}

describe('@singleton', () => {
  it('one holder at a time, and once per slot', async () => {
    const leases = storeLeases(memoryStore());
    const [a, b] = [new Reports(leases), new Reports(leases)];
    const both = await Promise.all([a.nightly('2026-03-01'), b.nightly('2026-03-01')]);
    expect(both.toSorted()).toEqual(['2026-03-01', undefined]);
    expect(await b.nightly('2026-03-01')).toBeUndefined();
    expect(await b.nightly('2026-03-02')).toBe('2026-03-02');
    expect(a.runs + b.runs).toBe(2);
    expect(skipped).toEqual(['held', 'slot-done']);
  });
});

describe('nonsense is refused when the class is defined', () => {
  const context = { kind: 'method', name: 'm' } as never;
  const method = async (): Promise<number> => 1;
  const leases = storeLeases(memoryStore());
  it.each<[string, () => unknown]>([
    ['no key', () => idempotent({ store: shared, operation: 'o' } as never)],
    ['an unknown option', () => idempotent({ store: shared, operation: 'o', key: () => 1, retries: 3 } as never)],
    ['no store', () => idempotent({ operation: 'o', key: () => 1 } as never)],
    ['on a field', () => idempotent({ store: shared, operation: 'o', key: () => 1 })(method, { kind: 'field' } as never)],
    ['decorators of before the standard', () => idempotent({ store: shared, operation: 'o', key: () => 1 })({} as never, 'm' as never)],
    ['a step without a name', () => step('' as never)],
    ['a step with an unknown mode', () => step('s', { mode: 'twice' } as never)],
    ['a step on a getter', () => step('s')(method, { kind: 'getter' } as never)],
    ['a singleton without a name', () => singleton({ leases } as never)],
    ['a singleton with an unknown option', () => singleton({ leases, name: 'n', slots: 1 } as never)],
  ])('%s', (_, define) => {
    expect(define).toThrowError(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    expect(() => step('s')(method, context)).not.toThrow();
  });

  it('a store that the object does not have is told at the call', async () => {
    const charge = idempotent({ store: () => undefined as never, operation: 'o', key: () => 1 })(method, context);
    await expect(charge.call({})).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
