/**
 * S10: jobs as cron starts them, of one user and of two. Each leaves files that say where it is.
 *
 * @module
 */
import { existsSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unprivileged } from '../../test/support/supervised.ts';
import type { Given } from './commands.ts';
import type { Stage } from './stage.ts';

/** Until it may go. Says which process it is. */
export const INSIDE = `echo $$ > "$JOB.in"; while [ ! -e "$JOB.go" ]; do sleep 0.05; done; : > "$JOB.out"`;
/** A daemon, until its file is gone, or two minutes are over. */
export const LEAVES_A_PROCESS = `: > "$JOB.left"; (n=0; while [ -e "$JOB.left" ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.2; done) > /dev/null 2>&1 & exit 0`;

/** What the jobs go by. */
export const jobIn = (folder: string, name: string): { readonly JOB: string } => ({ JOB: join(folder, name) });
export const isInside = (folder: string, name: string): boolean => existsSync(join(folder, `${name}.in`)) && !existsSync(join(folder, `${name}.out`));
export const letGo = (folder: string, name: string): void => writeFileSync(join(folder, `${name}.go`), '');

export interface Home {
  readonly folder: string;
  readonly user: Given['user'];
}

/** Of root and of another user, and a folder beside them that is still to be made; where we are not root, of one user with two homes. */
export async function homesOf(stage: Stage): Promise<{ readonly host: string; readonly homes: readonly [Home, Home] }> {
  // Not in the folder of the part: nobody else is let into that.
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-homes-'));
  stage.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  const other = await unprivileged();
  const homeOf = async (name: string, user: Home['user']): Promise<Home> => {
    const home = join(folder, name);
    await mkdir(home);
    if (user !== undefined) await chown(home, user.uid, user.gid);
    return { folder: home, user };
  };
  return { host: join(folder, 'host'), homes: [await homeOf('one', undefined), await homeOf('other', other)] };
}
