import { describe, expect, it } from 'vitest';
import { aesSeal, memoryStore } from '../../../src/index.ts';
import { operation, reply, textOf } from './exchange.ts';

const SECRET = 'iban DE89';
const stored = async (store: ReturnType<typeof memoryStore>): Promise<string> => {
  const all = [];
  for await (const found of store.list({})) all.push(found.record);
  return JSON.stringify(all);
};

describe('what lies in the store', () => {
  it('is redacted: the first caller gets the whole, a replay what was stored', async () => {
    const store = memoryStore();
    const redact = (whole: ReturnType<typeof reply>) => reply(whole.status, textOf(whole).replace(SECRET, '***'));
    const charge = operation({ store, redact }, () => reply(201, `paid by ${SECRET}`));
    expect(textOf(await charge.send())).toBe(`paid by ${SECRET}`);
    expect(textOf(await charge.send())).toBe('paid by ***');
    expect(await stored(store)).not.toContain('DE89');
    expect(charge.calls).toBe(1);
  });

  it('I2 keeps the outputs that belong to the outcome, unless the redaction speaks of them', async () => {
    const outputs = { queue: 'a message' };
    const answer = () => ({ ...reply(201, SECRET), attached: outputs });
    const bare = operation({ redact: ({ status }) => reply(status) }, answer);
    const spoken = operation({ redact: ({ status }) => ({ ...reply(status), attached: { queue: '***' } }) }, answer);
    const dropped = operation({ redact: ({ status }) => ({ ...reply(status), attached: undefined }) }, answer);
    for (const charge of [bare, spoken, dropped]) expect((await charge.send()).attached).toEqual(outputs);
    expect([await bare.send(), await spoken.send(), await dropped.send()].map(({ attached }) => attached)).toEqual([
      outputs,
      { queue: '***' },
      undefined,
    ]);
  });

  it('I3 a redaction that throws stores nothing and undoes nothing', async () => {
    const store = memoryStore();
    const redact = () => {
      throw new Error('no');
    };
    const charge = operation({ store, redact }, () => reply(201, SECRET));
    expect((await charge.send()).status).toBe(201);
    expect((await charge.send()).status).toBe(409);
    expect(await stored(store)).not.toContain('DE89');
    expect(charge.calls).toBe(1);
  });

  it.each<[string, (whole: ReturnType<typeof reply>) => unknown]>([
    ['nothing', () => undefined],
    ['a promise', async (whole) => whole],
    ['a body that is text', (whole) => ({ ...whole, body: 'text' })],
    ['a reply without headers', () => ({ status: 201 })],
  ])('I3 a redaction that returns %s undoes nothing', async (_, redact) => {
    const charge = operation({ redact: redact as never }, () => reply(201, SECRET));
    expect((await charge.send()).status).toBe(201);
    expect((await charge.send()).status).not.toBe(500);
    expect(charge.calls).toBe(1);
  });

  it('what a redaction takes out in place still reaches the first caller', async () => {
    const redact = (whole: ReturnType<typeof reply>) => {
      whole.body.fill(42);
      return whole;
    };
    const charge = operation({ redact }, () => reply(201, SECRET));
    expect(textOf(await charge.send())).toBe(SECRET);
    expect(textOf(await charge.send())).toBe('*'.repeat(SECRET.length));
  });

  it('is sealed where a seal is chosen, and replayed byte for byte', async () => {
    const store = memoryStore();
    const seal = aesSeal({ keys: { k: new Uint8Array(32) }, current: 'k' });
    const charge = operation({ store, seal }, () => reply(201, SECRET));
    const first = await charge.send();
    const second = await charge.send();
    expect(second.body).toEqual(first.body);
    expect(await stored(store)).not.toContain('DE89');
    const unsealed = operation({ store }, () => reply(201, SECRET));
    expect((await unsealed.send()).status).toBe(500);
    expect(unsealed.calls).toBe(0);
  });
});
