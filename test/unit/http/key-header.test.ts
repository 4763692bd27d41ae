import { describe, expect, it } from 'vitest';
import { parseKeyHeader } from '../../../src/http/key-header.ts';

const key = (value: string) => ({ kind: 'key', key: value });
const UUID = '8e03978e-40d5-43e8-bc93-6894a57f9324';

describe('the value of an Idempotency-Key header', () => {
  it.each([
    [`"${UUID}"`, UUID],
    [UUID, UUID],
    ['"a b"', 'a b'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['"k";v=1', 'k'],
    ['  "k"\t', 'k'],
    ['order-1234/é'.normalize('NFD').replace(/[^ -~]/g, ''), 'order-1234/e'],
    ['12345', '12345'],
    ['?1', '?1'],
    [':YQ==:', ':YQ==:'],
    ["!#$%&'()*+-./:<=>?@[]^_`{|}~", "!#$%&'()*+-./:<=>?@[]^_`{|}~"],
    ['a'.repeat(255), 'a'.repeat(255)],
    [`"${'a'.repeat(255)}"`, 'a'.repeat(255)],
  ])('takes %s', (header, value) => {
    expect(parseKeyHeader(header)).toEqual(key(value));
  });

  it.each([
    '""',
    '"',
    '"k',
    'k"',
    'a b',
    'a,b',
    'a;b',
    'a\\b',
    '"a", "b"',
    'a, a',
    '"a" b',
    '"é"',
    'é',
    '"a\\n"',
    '"\u0007"',
    'a'.repeat(256),
    `"${'a'.repeat(256)}"`,
  ])('refuses %s', (header) => {
    expect(parseKeyHeader(header)).toEqual({ kind: 'malformed' });
  });

  it('finds none where there is no header', () => {
    expect(parseKeyHeader(undefined)).toEqual({ kind: 'none' });
  });

  it.each(['', '  ', '\t'])('takes %j for malformed: whoever sends an empty header believes to be guarded', (header) => {
    expect(parseKeyHeader(header)).toEqual({ kind: 'malformed' });
  });

  it('takes only the quoted form when it is strict', () => {
    expect(parseKeyHeader(UUID, true)).toEqual({ kind: 'malformed' });
    expect(parseKeyHeader(`"${UUID}"`, true)).toEqual(key(UUID));
  });
});
