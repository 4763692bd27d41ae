import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { app } from '@azure/functions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { idempotentHttp, startCheck } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore } from '../../src/index.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rerunsafe-start-check-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function said(hostJson: string | undefined, options: { leaseMs?: number } = {}): Promise<string[]> {
  const file = join(folder, hostJson === undefined ? 'missing.json' : 'host.json');
  if (hostJson !== undefined) await writeFile(file, hostJson);
  const lines: string[] = [];
  await startCheck({ ...options, hostJson: file, tell: (line) => void lines.push(line) })();
  return lines;
}

describe('startCheck', () => {
  it('runs as a hook of the real library when the app starts, and tells of a visibility timeout that makes a throw hurt', async () => {
    const host = installFunctionsCore();
    const file = join(folder, 'host.json');
    await writeFile(file, JSON.stringify({ version: '2.0' }));
    const lines: string[] = [];
    app.hook.appStart(startCheck({ hostJson: file, tell: (line) => void lines.push(line) }));
    expect(lines).toEqual([]);
    await host.start();
    expect(lines).toEqual([expect.stringMatching(/visibilityTimeout: is not set, so it is 0: after a throw a message is delivered again at once/)]);
  });

  it('looks with the lease of the app', async () => {
    const hostJson = JSON.stringify({ extensions: { queues: { visibilityTimeout: '00:00:30' } } });
    expect(await said(hostJson)).toEqual([]);
    expect(await said(hostJson, { leaseMs: 600_000 })).toHaveLength(1);
  });

  it('says that a file is missing or no JSON, and never fails', async () => {
    expect(await said(undefined)).toEqual([expect.stringContaining('(file): cannot be read')]);
    expect(await said('{')).toEqual([expect.stringContaining('(file): cannot be read')]);
  });

  it('tells the default for streamed replies of each HTTP operation for which nobody chose', async () => {
    const good = JSON.stringify({ extensions: { queues: { visibilityTimeout: '00:00:30' } } });
    const build = (operation: string, choice: object = {}) =>
      idempotentHttp({ store: memoryStore(), operation, scope: 'public', ...choice }, () => ({ status: 200 }));
    build('chosen/pass', { streams: 'pass' });
    build('chosen/record', { streams: { recordUpTo: 1_000 } });
    expect(await said(good)).toEqual([]);
    build('not/chosen');
    build('not/chosen-either');
    expect(await said(good)).toEqual([
      expect.stringMatching(/^not\/chosen, not\/chosen-either: a streamed reply goes out unrecorded; .* Set streams to 'pass'/),
    ]);
  });

  it('refuses options that it does not know', () => {
    expect(() => startCheck({ lease: 1 } as object)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});
