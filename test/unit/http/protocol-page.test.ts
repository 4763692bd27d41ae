import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bindHttp } from '../../../src/http/guard-http.ts';
import { isFinal, isNeverKept, KEPT_HEADERS, REPLAYED_HEADER } from '../../../src/http/kept-reply.ts';
import { MISCONFIGURED, PROBLEMS } from '../../../src/http/problem.ts';
import { memoryStore } from '../../../src/index.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/http-protocol.md'), 'utf8');
const OPENAPI = /```yaml\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? '';
const bound = bindHttp('test', { store: memoryStore(), operation: 'o', scope: 'public' });

const section = (heading: string): string => PAGE.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
const rows = (heading: string): string[][] =>
  section(heading)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.slice(2, -2).split(' | '));
const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => (name as string).toLowerCase());

const published = [
  ...Object.entries(PROBLEMS).map(([code, problem]) => ({ ...problem, code: `\`${code}\`` })),
  { ...MISCONFIGURED, code: 'any other' },
];

describe('the published protocol is the one that is spoken', () => {
  it('I2 lists each problem with its status, code, Retry-After and title, and no other', () => {
    const told = rows('Problems')
      .slice(1)
      .map((row) => row.slice(0, 5).join(' | '));
    expect(told.toSorted()).toEqual(
      published.map(({ type, status, code, again, title }) => `\`${type}\` | ${status} | ${code} | ${again ? 'yes' : 'no'} | ${title}`).toSorted(),
    );
  });

  it('gives each problem a type of its own, and says of each what a client does', () => {
    expect(new Set(published.map(({ type }) => type)).size).toBe(published.length);
    for (const row of rows('Problems')) expect(row[5], row[0]).toMatch(/\w/);
    expect(PAGE).toContain(`\`${bound.problemBase}\``);
  });

  it('has the same types and statuses in the OpenAPI fragment', () => {
    const types = [...OPENAPI.matchAll(/- (urn:\S+)/g)].map(([, type]) => type);
    expect(types.toSorted()).toEqual(published.map(({ type }) => `${bound.problemBase}${type}`).toSorted());
    const statuses = [...OPENAPI.matchAll(/^ {8}'(\d{3})':/gm)].map(([, status]) => Number(status)).filter((status) => status >= 400);
    expect(statuses).toEqual([...new Set(published.map(({ status }) => status))].toSorted((a, b) => a - b));
    expect(OPENAPI).toContain(REPLAYED_HEADER);
    for (const [, ref] of OPENAPI.matchAll(/#\/components\/\w+\/(\w+)/g)) expect(OPENAPI).toMatch(new RegExp(`^ {4}${ref}:`, 'm'));
  });

  it('I2 lists the headers that are replayed, and none that never are', () => {
    const [kept = '', never = ''] = section('What is replayed').split('Never stored');
    expect(quoted(kept).filter((name) => name !== 'storeheaders')).toEqual(KEPT_HEADERS);
    expect(quoted(never).filter((name) => !isNeverKept(name.replace('*', 'x')))).toEqual([]);
    expect(quoted(never).length).toBeGreaterThan(10);
  });

  it('I1 says of each status whether it is kept', () => {
    const [, good, passing, other, failed] = rows('Which replies are kept');
    expect([good?.[0], other?.[0], failed?.[0]]).toEqual(['2xx, 3xx', 'other 4xx', '5xx']);
    const listed = new Set((passing?.[0] ?? '').split(', ').map(Number));
    for (let status = 200; status < 600; status += 1) expect([status, isFinal(status)]).toEqual([status, status < 500 && !listed.has(status)]);
  });

  it('states the limits as they are', () => {
    const limits = Object.fromEntries(rows('Limits'));
    expect(limits['Body of a request']).toContain(`${bound.maxBodyBytes.toLocaleString('en-US')} bytes`);
    expect(limits.Retention).toContain(`${bound.guard.retentionMs / 3_600_000} hours`);
    expect(limits['After a crash']).toContain(`${bound.guard.leaseMs / 1_000} seconds`);
    expect([...bound.methods].map((method) => `\`${method}\``).join(' and ')).toBe('`POST` and `PATCH`');
    expect(PAGE).toContain('`POST` and `PATCH` (`methods`)');
  });

  it('names options that there are', () => {
    const named = [...PAGE.matchAll(/\(`(\w+)/g)].map(([, name]) => name as string);
    expect(named.length).toBeGreaterThan(10);
    for (const name of named) {
      const wrong = { store: memoryStore(), operation: 'o', scope: 'public', [name]: Symbol('wrong') };
      expect(() => bindHttp('test', wrong as never), name).not.toThrow('is not an option');
    }
  });
});
