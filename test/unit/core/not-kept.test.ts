import { describe, expect, it } from 'vitest';
import { bench } from './engine.ts';

describe('a value that cannot be kept', () => {
  it('is warned about at the first call, once for an operation: nothing else would tell before a later caller is refused', async () => {
    const warnings: (Error & { code?: string })[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listener);
    try {
      const b = bench({ operation: 'not-kept/warned' });
      expect(await b.run(() => () => 'a function', { key: 1 })).toMatchObject({ kind: 'completed', saved: true });
      await b.run(() => () => 'a function', { key: 2 });
      await b.run(() => 'plain', { key: 3 });
      await new Promise(setImmediate);
    } finally {
      process.off('warning', listener);
    }
    const told = warnings.filter(({ code }) => code === 'RERUNSAFE_NOT_STORED');
    expect(told).toHaveLength(1);
    expect(told[0]?.message).toMatch(/not-kept\/warned: the work was done, but its value is not kept .*RESULT_NOT_STORED/);
  });
});
