/**
 * Stores that lie in files of this host.
 *
 * @module
 */
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { doctor } from '../../../src/cli/commands/doctor.ts';
import { setUp } from '../../../src/cli/commands/set-up.ts';
import { openPlace } from '../../../src/cli/places/open.ts';
import { unprivileged } from '../../support/supervised.ts';
import { collected } from './collected.ts';
import { told } from './processes.ts';

let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rerunsafe-places-'));
  // Whoever is another user has to get to what is in it.
  await chmod(folder, 0o755);
  env = { XDG_STATE_HOME: join(folder, 'state'), RERUNSAFE_HOST_DIR: join(folder, 'host') };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8);

describe('a store in files', () => {
  it('I1 of fifty processes that start where nothing is yet, one has the lease, and one whole database is there', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => told('acquire', 'sqlite:', { env })));
    expect(all.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
    expect(all.filter(({ kind }) => kind === 'held')).toHaveLength(49);
    const own = join(folder, 'state/rerunsafe');
    expect(await readdir(own)).toEqual(['records.db']);
    expect([await modeOf(own), await modeOf(join(own, 'records.db'))]).toEqual(['700', '600']);
  }, 90_000);

  it.each(['sqlite:', 'file:'])('%s is made at first use, and the doctor finds it well', async (url) => {
    const { out, lines } = collected();
    expect(await doctor(url, env, out)).toBe(0);
    expect(lines.at(-1)).toBe('All is well.');
  });

  it.each(['sqlite:host', 'file:host', 'own database', 'own folder'])('%s is made by set-up alone, however often', async (name) => {
    const url = { 'own database': `sqlite:${folder}/x.db`, 'own folder': `file:${folder}/locks` }[name] ?? name;
    const before = collected();
    expect(await doctor(url, env, before.out)).toBe(78);
    expect(before.lines.join('\n')).toMatch(/problem {2}set up: .*\n.*rerunsafe set-up --store/);
    const use = async (): Promise<string[]> => {
      const place = await openPlace(url, env);
      const { out, lines } = collected();
      await setUp(place, out);
      await place.close();
      return lines;
    };
    const first = await Promise.all(Array.from({ length: 50 }, use));
    expect(first.flat().join('\n')).toContain('is set up now');
    expect((await use()).join()).toContain('already');
    const after = collected();
    expect(await doctor(url, env, after.out)).toBe(0);
  });

  it('a mistyped path is no empty memory: it is refused, and no file is made', async () => {
    await expect(told('acquire', `sqlite:${folder}/mistyped.db`)).resolves.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(await readdir(folder)).toEqual([]);
  });

  it('set-up makes no folder for a database that a person has named', async () => {
    const answer = await told('set-up', `sqlite:${folder}/mistyped/x.db`);
    expect(answer).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining(`mkdir -p '${folder}/mistyped'`) });
    expect(await readdir(folder)).toEqual([]);
  });

  it('I1 all users of a host share its database, also its log files that another user has made, and whatever their umask', async () => {
    const user = await unprivileged();
    expect(await told('set-up', 'sqlite:host', { env })).toMatchObject({ lines: ['sqlite:host is set up now.'] });
    const records = join(folder, 'host/records');
    expect([await modeOf(join(folder, 'host')), await modeOf(records), await modeOf(join(records, 'records.db'))]).toEqual(['755', '777', '666']);
    // One holds the log files open that it has made, or found, while the other comes; then the other way round.
    const root = await openPlace('sqlite:host', env);
    const held = await root.leases.acquire('one of many', { owner: crypto.randomUUID(), leaseMs: 60_000 });
    expect(held.kind).toBe('acquired');
    expect(await told('acquire', 'sqlite:host', { env, user })).toEqual({ kind: 'held' });
    await root.close();
    expect(await told('doctor', 'sqlite:host', { env, user })).toMatchObject({ exitCode: 0 });
    expect(await told('acquire', 'sqlite:host', { env, user })).toEqual({ kind: 'held' });
    expect(await told('doctor', 'sqlite:host', { env })).toMatchObject({ exitCode: 0 });
    const all = await Promise.all(Array.from({ length: 8 }, (_, n) => told('doctor', 'sqlite:host', { env, user: n % 2 === 0 ? user : undefined })));
    expect(all.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 8 }, () => 0));
  });

  it('whoever is no administrator is told that one has to set up the database of the host', async () => {
    const user = await unprivileged();
    if (user === undefined) await chmod(folder, 0o555);
    const refused = await told('set-up', 'sqlite:host', { env, user });
    await chmod(folder, 0o755);
    expect(refused).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('administrator') });
  });

  it('what another user has put in the place of the database of the host is not opened', async () => {
    const records = join(folder, 'host/records');
    await mkdir(records, { recursive: true });
    await writeFile(join(folder, 'of-somebody.db'), '');
    await symlink(join(folder, 'of-somebody.db'), join(records, 'records.db'));
    const { out, lines } = collected();
    expect(await doctor('sqlite:host', env, out)).toBe(78);
    expect(lines.join('\n')).toContain('is no regular file');
  });

  it('a user who may not write to a database, or its folder, is told so', async () => {
    const user = await unprivileged();
    const place = await openPlace(`sqlite:${folder}/x.db`, env);
    await setUp(place, collected().out);
    await place.close();
    if (user === undefined) await chmod(folder, 0o555);
    const answer = await told('doctor', `sqlite:${folder}/x.db`, { user });
    await chmod(folder, 0o755);
    expect(answer.exitCode).toBe(78);
    expect(answer.lines?.join('\n')).toMatch(/may not write in .*\n.*Give this user the right/);
  });

  it('a state folder that cannot be made is said, with what else can be done', async () => {
    await writeFile(join(folder, 'taken'), '');
    const answer = await told('look', 'sqlite:', { env: { XDG_STATE_HOME: join(folder, 'taken') } });
    expect(answer).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringMatching(/could not be made.*XDG_STATE_HOME/) });
  });

  it('the doctor says that the guard is switched off, and answers as JSON', async () => {
    const { out, values, lines } = collected(true);
    expect(await doctor('sqlite:', { ...env, RERUNSAFE_DISABLED: '1' }, out)).toBe(78);
    expect(lines).toEqual([]);
    expect(values).toHaveLength(1);
    expect(values[0]).toContainEqual({
      check: 'switched on',
      ok: false,
      detail: expect.any(String),
      remedy: expect.stringContaining('RERUNSAFE_DISABLED'),
    });
    expect(values[0]).toContainEqual({ check: 'records', ok: true, detail: expect.any(String) });
  });
});
