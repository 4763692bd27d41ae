import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCommand } from '../../../src/cli/child/find-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'rerunsafe-find-'));
const pathBefore = process.env.PATH;
const file = (name: string, text: string, mode = 0o755): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};

beforeAll(() => {
  process.env.PATH = `${folder}:${pathBefore}`;
  mkdirSync(join(folder, 'folder-there'));
});
afterAll(() => {
  process.env.PATH = pathBefore;
  rmSync(folder, { recursive: true });
});

describe('X4 what cannot be started is known before anything is claimed', () => {
  it('a command in PATH, and one by its path', async () => {
    const path = file('rerunsafe-there', '#!/bin/sh\n');
    expect(await findCommand('rerunsafe-there')).toEqual({ path });
    expect(await findCommand(path)).toEqual({ path });
  });

  it.each(['no-such-command-anywhere', './no-such-file', '/no/such/file', '', 'folder-there'])('127: %j is not there', async (command) => {
    expect(await findCommand(command)).toMatchObject({ exitCode: 127, message: expect.stringContaining(JSON.stringify(command)) });
  });

  it('127: a built-in of the shell is no program, and the sentence says what to do', async () => {
    expect(await findCommand('unset')).toMatchObject({ exitCode: 127, message: expect.stringContaining('sh -c') });
  });

  it('126: a file without the right to execute it, by its path and in PATH; a folder', async () => {
    const path = file('rerunsafe-plain', 'x', 0o644);
    for (const command of [path, 'rerunsafe-plain', join(folder, 'folder-there')])
      expect(await findCommand(command)).toMatchObject({ exitCode: 126 });
  });

  it.each(['#!/no/such/interpreter\n', '#!/bin/sh\r\n', '#! /no/such -x\n'])('126: a script whose interpreter is not there (%j)', async (text) => {
    expect(await findCommand(file('rerunsafe-script', text))).toMatchObject({ exitCode: 126, message: expect.stringContaining('interpreter') });
  });

  it('a script without a first line is the shell’s', async () => {
    expect(await findCommand(file('rerunsafe-bare', 'echo hi\n'))).toHaveProperty('path');
  });
});
