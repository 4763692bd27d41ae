import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runChild } from '../../../src/cli/child/run-child.ts';

const folder = mkdtempSync(join(tmpdir(), 'rerunsafe-before-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('I8 a signal that comes when the command is just about to start is not lost: nothing is run, and that is known', async () => {
  const ran = join(folder, 'ran');
  const ending = runChild({
    command: 'touch',
    args: [ran],
    env: {},
    foreground: false,
    killAfterMs: 1_000,
    leftBehind: 'leave',
    hold: { fence: undefined, leaseMs: 60_000, signal: new AbortController().signal, remainingMs: () => 60_000, assertHeld: () => {} },
    onLostLease: 'kill',
    say: () => {},
  });
  // Delivered to whoever listens, as the real one is; nobody else here does.
  expect(process.emit('SIGQUIT', 'SIGQUIT')).toBe(true);
  expect(await ending).toEqual({ kind: 'not-started', exitCode: 131, message: 'SIGQUIT came before it was started' });
  expect(existsSync(ran)).toBe(false);
  expect(process.listenerCount('SIGQUIT')).toBe(0);
});
