import { describe, expect, it } from 'vitest';
import { bindHttp, type HttpOptions } from '../../../src/http/guard-http.ts';
import { memoryStore, type RerunSafeError } from '../../../src/index.ts';

const problemsOf = (options: unknown): unknown => {
  try {
    bindHttp('test', options as HttpOptions<unknown>);
  } catch (error) {
    return (error as RerunSafeError).facts.problems;
  }
  return undefined;
};

const good = { store: memoryStore(), operation: 'o', scope: 'public' };

describe('the options of an HTTP operation', () => {
  it('are refused without a choice of scope', () => {
    expect(problemsOf({ store: good.store, operation: 'o' })).toEqual(['scope is missing']);
    expect(problemsOf({ ...good, scope: 'tenant' })).toHaveLength(1);
  });

  it.each([
    { methods: [] },
    { methods: 'POST' },
    { key: 'k' },
    { required: 'yes' },
    { headerName: 'a b' },
    { strict: 1 },
    { fingerprint: true },
    { keep: [200] },
    { storeHeaders: ['Set-Cookie'] },
    { storeHeaders: ['access-control-allow-origin'] },
    { maxBodyBytes: 0 },
    { timeOrderedKeys: 'v7' },
    { authorizeReplay: true },
    { streams: 'record' },
    { streams: {} },
    { streams: { recordUpTo: 0 } },
    { streams: { recordUpTo: 1, more: 1 } },
    { problemBase: '' },
    { keepStatus: 1 },
    { leaseMs: -1 },
  ])('are refused when wrong: %j', (wrong) => {
    expect(problemsOf({ ...good, ...wrong })).toHaveLength(1);
  });

  it('are refused all at once', () => {
    expect(problemsOf({ strict: 1, misspelt: 1 })).toHaveLength(5);
    expect(problemsOf(undefined)).toHaveLength(1);
  });
});
