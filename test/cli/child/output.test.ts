import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { sendSignal } from '../../../scripts/send-signal.ts';
import { until } from './processes.ts';
import { Stage, shell, type Wrapped } from './stage.ts';

const stage = new Stage();
afterAll(() => stage.clean());

const MB = 1024 * 1024;
const tailOf = (end: Record<string, unknown>): string[] =>
  (end.tail as [string, string][]).map(([stream, bytes]) => `${stream}: ${Buffer.from(bytes, 'base64')}`);

/** With pauses, so that the pipe is full most of the time. */
async function slowly({ process: { stdout } }: Wrapped): Promise<{ bytes: number; hash: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  let pauseAt = 0;
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes >= pauseAt) {
      pauseAt += 10 * MB;
      await sleep(20);
    }
  }
  return { bytes, hash: hash.digest('hex') };
}

describe.concurrent('X4 the output of a command passes untouched', () => {
  it('100 MB for a slow reader, captured: every byte, in memory that does not grow', async () => {
    const wrapped = stage.wrap({ ...shell('yes 0123456789abcde | head -c "$1"', String(100 * MB)), captureBytes: 65_536 }, { reads: false });
    const seen = await slowly(wrapped);
    const { end, grownKb } = await wrapped.ended();
    expect(seen).toEqual({
      bytes: 100 * MB,
      hash: createHash('sha256')
        .update('0123456789abcde\n'.repeat((100 * MB) / 16))
        .digest('hex'),
    });
    expect(Buffer.concat((end.tail as [string, string][]).map(([, bytes]) => Buffer.from(bytes, 'base64'))).toString()).toBe(
      '0123456789abcde\n'.repeat(4096),
    );
    expect(grownKb).toBeLessThan(64 * 1024);
  }, 90_000);

  it('what is not text', async () => {
    const wrapped = stage.wrap({ ...shell("printf '\\377\\376\\000\\200\\n\\303'"), captureBytes: 4 });
    const { end } = await wrapped.ended();
    expect([...wrapped.bytes()]).toEqual([0xff, 0xfe, 0, 0x80, 10, 0xc3]);
    expect(end.tail).toEqual([['stdout', Buffer.from([0, 0x80, 10, 0xc3]).toString('base64')]]);
  });

  it('none at all', async () => {
    expect((await stage.wrap({ command: 'true', captureBytes: 10 }).ended()).end).toMatchObject({ kind: 'exited', code: 0, tail: [] });
    expect((await stage.wrap({ command: 'true' }).ended()).end).not.toHaveProperty('tail');
  });

  it('both streams, the tail in the order in which they were written', async () => {
    const wrapped = stage.wrap({ ...shell('echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three'), captureBytes: 12 });
    const { end } = await wrapped.ended();
    expect([wrapped.stdout(), wrapped.stderr()]).toEqual(['one\nthree\n', 'two\n']);
    expect(tailOf(end)).toEqual(['stdout: e\n', 'stderr: two\n', 'stdout: three\n']);
  });

  it('a reader that begins late gets all of it', async () => {
    const wrapped = stage.wrap({ ...shell('yes | head -c 700000'), captureBytes: 10 }, { reads: false });
    await sleep(900);
    expect(wrapped.lines().some((line) => 'end' in line)).toBe(false);
    expect((await slowly(wrapped)).bytes).toBe(700_000);
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'exited', code: 0 });
  });

  it('a reader that takes nothing does not keep us when our time is over', async () => {
    const wrapped = stage.wrap({ ...shell('yes & exit 0'), captureBytes: 10 }, { reads: false });
    await until(() => wrapped.said().some((sentence) => sentence.includes('left processes running')), 'the command has ended');
    const pid = await wrapped.pid();
    sendSignal(pid, 'SIGTERM');
    await until(() => wrapped.lines().some((line) => 'end' in line), 'it does not wait any more');
    wrapped.process.stdout?.resume();
    expect((await wrapped.ended()).end).toMatchObject({ code: 0 });
  });

  it('a reader that has gone: the command’s pipe is closed, too, and nothing crashes', async () => {
    const wrapped = stage.wrap(
      { ...shell('while :; do echo line; done'), captureBytes: 10 },
      { through: (command) => ['sh', '-c', '"$@" | head -1', 'sh', ...command] },
    );
    await expect(wrapped.ended()).resolves.toMatchObject({ end: { kind: 'signalled', signal: 'SIGPIPE' }, listeners: 0 });
    expect(wrapped.stdout()).toBe('line\n');
    // Of the command, at most.
    expect(wrapped.stderr()).toMatch(/^(?:sh: .*\n)*$/);
  });

  it('trap 1: a process in the background that keeps the pipe open holds nobody up', async () => {
    const wrapped = stage.wrap({ ...shell('sleep 30 & echo hi'), captureBytes: 100 });
    const { end } = await wrapped.ended();
    expect(end).toMatchObject({ kind: 'exited', code: 0 });
    expect(tailOf(end)).toEqual(['stdout: hi\n']);
    expect(wrapped.alive()).toHaveLength(1);
  });

  it('one that writes for ever holds nobody up either', async () => {
    const wrapped = stage.wrap({ ...shell('while :; do echo more; sleep 0.01; done & echo hi'), captureBytes: 100 });
    expect((await wrapped.ended()).end).toMatchObject({ kind: 'exited', code: 0 });
    expect(wrapped.stdout()).toContain('hi\n');
  });
});
