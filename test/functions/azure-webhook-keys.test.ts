import { describe, expect, it } from 'vitest';
import { keys } from '../../src/adapters/azure-functions/index.ts';

const MISSING = expect.objectContaining({ code: 'MISSING_KEY' });

describe('keys of webhooks', () => {
  it('I1 CloudEvents: source and id, in the body or in the headers', () => {
    expect(keys.cloudEvent({ specversion: '1.0', source: '/orders,eu', id: 'e-1', type: 't' })).toEqual(['/orders,eu', 'e-1']);
    expect(keys.cloudEventHeaders(new Headers({ 'ce-source': '/orders,eu', 'ce-id': 'e-1' }))).toEqual(['/orders,eu', 'e-1']);
    const twice = new Headers({ 'ce-source': '/a', 'ce-id': 'e-1' });
    twice.append('ce-id', 'e-2');
    expect(() => keys.cloudEventHeaders(twice)).toThrow(MISSING);
    for (const bad of [
      { source: '/s' },
      { id: 'e' },
      { source: '', id: 'e' },
      { source: '/s', id: 1 },
      [{ source: '/s', id: 'e' }],
      null,
      undefined,
    ]) {
      expect(() => keys.cloudEvent(bad)).toThrow(MISSING);
    }
  });

  it('I1 Stripe: the id of the event, never of what it is about', () => {
    expect(keys.stripeEvent({ object: 'event', id: 'evt_1', data: { object: { id: 'ch_1' } } })).toEqual(['evt_1']);
    expect(keys.stripeEvent({ object: 'v2.core.event', id: 'evt_2' })).toEqual(['evt_2']);
    for (const bad of [{ object: 'charge', id: 'ch_1' }, { object: 'event' }, { object: 'event', id: 7 }, '{"id":"evt_1"}', null]) {
      expect(() => keys.stripeEvent(bad)).toThrow(MISSING);
    }
  });

  it.each([
    ['GitHub', keys.gitHubDelivery, 'X-GitHub-Delivery'],
    ['Standard Webhooks', keys.standardWebhook, 'webhook-id'],
  ] as const)('I1 %s: the header, in each form of headers; twice, empty or missing is refused', (_name, key, header) => {
    for (const headers of [new Headers({ [header]: 'd-1' }), { [header.toUpperCase()]: 'd-1' }, { [header.toLowerCase()]: ['d-1'] }]) {
      expect(key(headers)).toEqual(['d-1']);
    }
    for (const headers of [
      new Headers(),
      new Headers({ [header]: '' }),
      {},
      { [header]: undefined },
      { [header]: ' ' },
      { [header]: 'a, b' },
      { [header]: ['a', 'b'] },
      { [header.toLowerCase()]: 'a', [header.toUpperCase()]: 'b' },
    ]) {
      expect(() => key(headers)).toThrow(MISSING);
    }
    expect(() => key(undefined as never)).toThrow(MISSING);
  });
});
