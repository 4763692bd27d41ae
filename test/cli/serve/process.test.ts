import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseFolder, databaseFolder } from '../../support/sqlite-file.ts';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

describe('rerunsafe serve as a process', () => {
  let folder: DatabaseFolder;
  beforeAll(async () => {
    folder = await databaseFolder();
  });
  afterAll(() => folder.remove());
  const start = (...flags: string[]) => spawn(process.execPath, [MAIN, 'serve', '--store', `sqlite:${folder.path}`, ...flags]);

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'prints its address and answers; %s ends it with 0, also while a browser keeps its connection',
    async (signal) => {
      const child = start('--json');
      const exit = once(child, 'exit');
      try {
        const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
        const told = JSON.parse(line) as { kind: string; url: string; host: string; port: number; allowWrites: boolean };
        expect(told).toMatchObject({ kind: 'serve', host: '127.0.0.1', allowWrites: false });
        expect(told.url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${told.port}/\\?token=[\\w-]{43}$`));
        expect((await fetch(told.url, { redirect: 'manual' })).status).toBe(303);
        child.kill(signal);
        expect(await exit).toEqual([0, null]);
      } finally {
        child.kill('SIGKILL');
      }
    },
  );

  it.each([
    [['--host', '0.0.0.0'], '--allow-remote'],
    [['--port', '65536'], '--port must be'],
    [['--read-only', '--allow-writes'], 'either --read-only'],
    [['--store', 'nonsense:'], 'rerunsafe: '],
  ])('refuses %j with 64, and listens nowhere', async (flags, said) => {
    const child = start(...flags);
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    const [code] = await once(child, 'close');
    expect([code, stderr]).toEqual([64, expect.stringContaining(said)]);
  });
});
