import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { sendSignal } from '../../scripts/send-signal.ts';

it.each([0, -0, 1, -1, Number(''), Number('no number'), 1.5, Number.POSITIVE_INFINITY])('%s is no number of a process', (target) => {
  // Signal 0 would do no harm, were it sent.
  expect(() => sendSignal(target, 0 as never)).toThrow(/^not the number of a process: /);
});

it('a process, and a group as a negative number', async () => {
  const children = [1, -1].map((sign) => ({ sign, child: spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }) }));
  for (const { sign, child } of children) {
    const exited = once(child, 'exit');
    sendSignal(sign * (child.pid ?? 0), 'SIGTERM');
    expect(await exited).toEqual([null, 'SIGTERM']);
  }
});
