import { describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { collectMessages } from '../../../src/core/outbox.ts';

const record = recordId('orders/place', [], ['7']);
const refusal = (message: object, before: object[] = []): string => {
  const outbox = collectMessages(record);
  for (const each of before) outbox.add(each as never);
  try {
    return outbox.add(message as never);
  } catch (error) {
    return (error as Error).message;
  }
};
const PLAIN = 'outbox.add: the payload must be plain JSON: it would not arrive as it is.';

describe('messages of a run', () => {
  it('are kept in order, each whole, with nothing that was not said', () => {
    const outbox = collectMessages(record);
    const ids = [outbox.add({ topic: 'a', payload: { n: 1 } }), outbox.add({ topic: 'b', payload: null, key: 'k', name: 'n' })];
    expect(outbox.pending).toStrictEqual([
      { id: ids[0], topic: 'a', key: undefined, payload: { n: 1 }, position: 0 },
      { id: ids[1], topic: 'b', key: 'k', payload: null, position: 1 },
    ]);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it('I3 ids never change: a relay of an earlier version may have sent the message (golden)', () => {
    const outbox = collectMessages(record);
    expect([outbox.add({ topic: 't', payload: 1 }), outbox.add({ topic: 't', payload: 1, name: 'placed' })]).toEqual([
      'fll6HmzabJ12p1DUxuPB_CWJjHPS9P9tXxltA7IjojI',
      'riQkxhitH52PcT-8jONogV33aRV1NY6smewEK2SjrVE',
    ]);
  });

  it.each<[object, string]>([
    [{ topic: '', payload: 1 }, 'outbox.add: topic must be a string of 1 to 200 characters, without control characters.'],
    [{ topic: 't'.repeat(201), payload: 1 }, 'outbox.add: topic must be a string of 1 to 200 characters, without control characters.'],
    [{ topic: 't', payload: 1, key: '' }, 'outbox.add: key must be a string of 1 to 200 characters, without control characters.'],
    [{ topic: 't', payload: 1, name: '' }, 'outbox.add: name must be a string of 1 to 200 characters, without control characters.'],
    [{ topic: 't' }, 'outbox.add: payload is missing.'],
    [{ payload: 1 }, 'outbox.add: topic is missing.'],
    [{ topic: 't', payload: 1, dueAtMs: 5 }, 'outbox.add: dueAtMs is not an option. The options are topic, payload, key, name.'],
    [{ topic: 't', payload: new Date(0) }, PLAIN],
    [{ topic: 't', payload: 1n }, PLAIN],
    [{ topic: 't', payload: () => 1 }, PLAIN],
  ])('%o: refused in words', (message, words) => {
    expect(refusal(message)).toBe(words);
  });

  it('a name that was used before: refused in words, and kept once', () => {
    const named = { topic: 't', payload: 1, name: 'a' };
    expect(refusal(named, [{ topic: 't', payload: 0 }, named])).toBe('outbox.add: the name "a" was used before in this run.');
  });

  it('I1 too late is too late: nothing is kept', () => {
    const late = new Error('committed');
    let isLate = false;
    const outbox = collectMessages(record, () => {
      if (isLate) throw late;
    });
    outbox.add({ topic: 't', payload: 1 });
    isLate = true;
    expect(() => outbox.add({ topic: 't', payload: 2 })).toThrow(late);
    expect(() => outbox.add({} as never)).toThrow(late);
    expect(outbox.pending).toHaveLength(1);
  });
});
