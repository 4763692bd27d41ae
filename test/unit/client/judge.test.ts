import { describe, expect, it } from 'vitest';
import { judgeAnswer, pauseMs } from '../../../src/adapters/client/judge.ts';
import { retryAfterMs } from '../../../src/adapters/client/retry-after.ts';
import { PROBLEMS, problemReply } from '../../../src/http/problem.ts';

describe('an answer of a service of this package', () => {
  it.each(Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[])('I10 %s is tried again where the service says so, and only there', (code) => {
    const { status, headers, body } = problemReply('urn:x:', code);
    const told = { status, retryAfterMs: retryAfterMs(new Headers(headers.map(([n, v]) => [n, v])), 0) };
    const again = headers.some(([name]) => name === 'retry-after');
    expect(judgeAnswer({ ...told, problemType: JSON.parse(new TextDecoder().decode(body)).type }).kind).toBe(again ? 'again' : 'final');
    expect(judgeAnswer({ ...told, problemType: undefined }).kind).toBe(again ? 'again' : 'final');
  });
});

describe('Retry-After', () => {
  const at = (ms: number): string => new Date(ms).toUTCString();

  it.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '3' }, 3_000],
    ['zero', { 'retry-after': '0' }, 0],
    ['a date against our own clock', { 'retry-after': at(8_000) }, 3_000],
    ['a date against that of the answer', { 'retry-after': at(8_000), date: at(7_000) }, 1_000],
    ['a date with a broken one of the answer', { 'retry-after': at(8_000), date: 'today' }, 3_000],
    ['a date that has passed', { 'retry-after': at(1_000) }, 0],
    ['nothing', {}, undefined],
    ['less than nothing', { 'retry-after': '-1' }, undefined],
    ['a fraction', { 'retry-after': '1.5' }, undefined],
    ['a number that is a date to some', { 'retry-after': '2025-01-01' }, undefined],
    ['two values', { 'retry-after': '1, 2' }, undefined],
    ['a day that is none', { 'retry-after': 'Mon, 99 Jan 2024 00:00:00 GMT' }, undefined],
  ])('%s', (_, headers, expected) => {
    expect(retryAfterMs(new Headers(headers), 5_000)).toBe(expected);
  });
});

describe('a pause', () => {
  it.each<[string, number | undefined, number, number, number, number | undefined]>([
    ['begins short', undefined, 0, 60_000, 0, 125],
    ['grows', undefined, 3, 60_000, 0, 1_000],
    ['has an end to its growth, whatever the count', undefined, 999, 60_000, 0, 5_000],
    ['is jittered', undefined, 0, 60_000, 0.999, 250],
    ['is never shorter than told', 3_000, 0, 60_000, 0, 3_000],
    ['is jittered upwards where it was told', 3_000, 0, 60_000, 0.5, 3_125],
    ['ends the tries where it would take all that is left', 3_000, 0, 3_000, 0, undefined],
    ['is not made for ever', Number('1'.repeat(400)), 0, Number.MAX_SAFE_INTEGER, 0, undefined],
    ['is not made after the last retry', undefined, 1_000, 60_000, 0, undefined],
  ])('%s', (_, told, retries, leftMs, random, expected) => {
    expect(pauseMs(told, { retries, maxRetries: 1_000, leftMs }, random)).toBe(expected);
  });
});
