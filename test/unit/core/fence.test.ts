import { describe, expect, it } from 'vitest';
import { checkFence, mustHold, rowIdOf } from '../../../src/core/fence.ts';
import { leaseRowId } from '../../../src/core/store-leases.ts';

const fence = { id: 'nightly', owner: 'a', token: 7 };
const place = 'the table t';

/** What is thrown, without its words. */
function refusal(body: () => void): unknown {
  try {
    body();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('a fence as a store meets it', () => {
  it.each([
    ['somebody else, a later token', { owner: 'b', token: 8 }, 8],
    ['somebody else, the same token', { owner: 'b', token: 7 }, 7],
    ['the same owner, a later token', { owner: 'a', token: 8 }, 8],
    ['the same owner, an earlier token', { owner: 'a', token: 6 }, 6],
  ])('I4 %s: refused, with both tokens', (_, standing, storedToken) => {
    expect(refusal(() => mustHold(fence, standing, place))).toMatchObject({
      code: 'STALE_TOKEN',
      message: expect.stringContaining(`Somebody else has taken nightly (token ${storedToken} stands there, ours is 7)`),
      facts: { id: 'nightly', token: 7, storedToken },
    });
  });

  it('I4 owner and token as they stand: held', () => {
    expect(refusal(() => mustHold(fence, { owner: 'a', token: 7 }, place))).toBeUndefined();
  });

  it('I4 no such row: it is the wrong place, and that place is named', () => {
    const error = refusal(() => mustHold(fence, undefined, place));
    expect(error).toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(String(error)).toMatch(/nightly in the table t /);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['no id', { owner: 'a', token: 7 }],
    ['no owner', { id: 'nightly', token: 7 }],
    ['no token', { id: 'nightly', owner: 'a' }],
    ['an empty owner', { ...fence, owner: '' }],
    ['a token that is none', { ...fence, token: -1 }],
  ])('I4 %s is no fence', (_, given) => {
    expect(refusal(() => checkFence(given))).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/^fence: /) });
  });

  it('I4 a fence may carry more than it needs', () => {
    expect(refusal(() => checkFence({ ...fence, sentBy: 'somebody' }))).toBeUndefined();
  });

  it.each([
    [`r1_${'a'.repeat(43)}`, true],
    [`r1_${'a'.repeat(42)}`, false],
    [`r1_${'a'.repeat(44)}`, false],
    [`x r1_${'a'.repeat(43)}`, false],
    [`r1_${'a'.repeat(42)}/`, false],
  ])('I4 %s: a record or the name of a lease', (id, isRecord) => {
    expect(rowIdOf(id)).toBe(isRecord ? id : leaseRowId(id));
  });
});
