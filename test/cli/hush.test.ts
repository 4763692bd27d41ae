import { expect, it } from 'vitest';
import { hushSqlite } from '../../src/cli/hush.ts';

it('what Node 22 says of its SQLite is not said; every other warning is', async () => {
  const { emitWarning } = process;
  const heard: string[] = [];
  const listener = ({ message }: Error): void => void heard.push(message);
  process.on('warning', listener);
  try {
    hushSqlite();
    process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning');
    process.emitWarning('something else', { code: 'RERUNSAFE_DISABLED' });
    await new Promise(setImmediate);
    expect(heard).toEqual(['something else']);
  } finally {
    process.off('warning', listener);
    process.emitWarning = emitWarning;
  }
});
