import { describe, expect, it } from 'vitest';
import { requestInput } from '../../../src/http/request-fingerprint.ts';
import { type SentRequest, view } from './exchange.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const form = (boundary: string, value = '1') => ({
  headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  body: `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${value}\r\n--${boundary}--\r\n`,
});

describe('two requests are the same request', () => {
  it.each<[string, SentRequest, SentRequest]>([
    [
      'whatever the order of properties',
      { headers: JSON_TYPE, body: '{"a":1,"b":{"c":2,"d":3}}' },
      { headers: JSON_TYPE, body: '{ "b": {"d":3, "c":2}, "a":1 }' },
    ],
    ['however a number is written', { headers: JSON_TYPE, body: '[1.50,1e3]' }, { headers: JSON_TYPE, body: '[1.5,1000]' }],
    [
      'with a charset beside the content type',
      { headers: JSON_TYPE, body: '{}' },
      { headers: { 'content-type': 'Application/JSON; charset=utf-8' }, body: '{ }' },
    ],
    ['whatever the order of the query', { query: 'b=2&a=1' }, { query: 'a=1&b=2' }],
    ['whatever boundary a form was given', form('one'), form('two')],
    [
      'in all forms of vendor JSON',
      { headers: { 'content-type': 'application/vnd.x+json' }, body: '{"a":1,"b":2}' },
      { headers: { 'content-type': 'application/vnd.x+json' }, body: '{"b":2,"a":1}' },
    ],
  ])('I9 %s', (_, one, two) => {
    expect(requestInput(view(one))).toEqual(requestInput(view(two)));
  });

  it.each<[string, SentRequest, SentRequest]>([
    ['method', { method: 'POST' }, { method: 'PATCH' }],
    ['path', { path: '/a' }, { path: '/b' }],
    ['query', { query: 'a=1' }, { query: 'a=2' }],
    ['order of one query parameter', { query: 'a=1&a=2' }, { query: 'a=2&a=1' }],
    ['content type', { headers: { 'content-type': 'text/plain' } }, { headers: { 'content-type': 'text/csv' } }],
    ['JSON value', { headers: JSON_TYPE, body: '{"amount":1}' }, { headers: JSON_TYPE, body: '{"amount":2}' }],
    ['JSON type', { headers: JSON_TYPE, body: '{"amount":1}' }, { headers: JSON_TYPE, body: '{"amount":"1"}' }],
    ['order of a JSON array', { headers: JSON_TYPE, body: '[1,2]' }, { headers: JSON_TYPE, body: '[2,1]' }],
    ['17th digit', { headers: JSON_TYPE, body: '{"amount":9007199254740993}' }, { headers: JSON_TYPE, body: '{"amount":9007199254740992}' }],
    ['size beyond a double', { headers: JSON_TYPE, body: '1e400' }, { headers: JSON_TYPE, body: '1e401' }],
    ['byte of a binary body', { body: new Uint8Array([1, 2, 255]) }, { body: new Uint8Array([1, 2, 254]) }],
    ['form field', form('one', '1'), form('one', '2')],
  ])('I9 and not with another %s', (_, one, two) => {
    expect(requestInput(view(one))).not.toEqual(requestInput(view(two)));
  });

  it.each([
    ['broken JSON', '{"a":'],
    ['JSON nested beyond all measure', '['.repeat(5_000) + ']'.repeat(5_000)],
    ['bytes that are no text', new Uint8Array([0x22, 0xff, 0x22])],
  ])('I9 %s is compared by its bytes', (_, body) => {
    const one = requestInput(view({ headers: JSON_TYPE, body }));
    expect(one).toEqual(requestInput(view({ headers: JSON_TYPE, body })));
    expect(one).not.toEqual(requestInput(view({ headers: JSON_TYPE, body: '{}' })));
  });
});
