import { describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { collectMessages } from '../../../src/core/outbox.ts';

const record = recordId('orders/place', [], ['7']);

describe('messages of a run', () => {
  it('I3 an id says record and place, or record and name: a name is never taken for a place', () => {
    const ids = (messages: readonly { name?: string }[]): string[] => {
      const outbox = collectMessages(record);
      return messages.map((message) => outbox.add({ topic: 't', payload: null, ...message }));
    };
    expect(ids([{}, { name: 'a' }, {}])).toEqual(ids([{}, { name: 'a' }, {}]));
    expect(ids([{ name: 'a' }, {}])[0]).toBe(ids([{}, { name: 'a' }])[1]);
    expect(new Set(ids([{}, { name: '0' }, { name: '#0' }, { name: 'outbox#0' }, {}])).size).toBe(5);
    expect(collectMessages(recordId('orders/place', [], ['8'])).add({ topic: 't', payload: null })).not.toBe(ids([{}])[0]);
  });

  it('is given as it was when it was added', () => {
    const outbox = collectMessages(record);
    const payload = { items: [1, 2] };
    outbox.add({ topic: 't', payload, key: 'k' });
    payload.items.push(3);
    expect(outbox.pending).toMatchObject([{ topic: 't', key: 'k', payload: { items: [1, 2] }, position: 0 }]);
  });

  it.each([
    ['no topic', { payload: 1 }],
    ['no payload', { topic: 't' }],
    ['an unknown option', { topic: 't', payload: 1, dueAtMs: 5 }],
    ['an empty key', { topic: 't', payload: 1, key: '' }],
    ['a date', { topic: 't', payload: new Date(0) }],
    ['undefined inside', { topic: 't', payload: { a: undefined } }],
    ['NaN', { topic: 't', payload: [Number.NaN] }],
    ['a bigint', { topic: 't', payload: 1n }],
    ['a function', { topic: 't', payload: () => 1 }],
    ['not an object', 7],
  ])('refuses %s, and keeps nothing', (_, message) => {
    const outbox = collectMessages(record);
    expect(() => outbox.add(message as never)).toThrowError(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    expect(outbox.pending).toEqual([]);
  });

  it('refuses a name that was used before', () => {
    const outbox = collectMessages(record);
    outbox.add({ topic: 't', payload: 1, name: 'a' });
    expect(() => outbox.add({ topic: 't', payload: 2, name: 'a' })).toThrowError(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});
