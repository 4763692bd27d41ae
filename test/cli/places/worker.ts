/**
 * A process of its own that uses a store by its URL. Prints what came of it, as JSON.
 *
 * @module
 */
import { inspect } from 'node:util';
import { openPlace } from '../../../src/cli/places/open.ts';
import { collected } from './collected.ts';

const [task, url = ''] = process.argv.slice(2);
await becomeAnother(process.env.TEST_USER);

/** Not by whoever starts it: another user may not be let into the folder that the code lies in, so all of it is loaded before. */
async function becomeAnother(user: string | undefined): Promise<void> {
  if (user === undefined) return;
  await Promise.all([
    commands(),
    import('../../../src/stores/sqlite/store.ts'),
    import('../../../src/cli/places/host-file.ts'),
    import('node:sqlite'),
  ]);
  const [uid = 0, gid = 0] = user.split(':').map(Number);
  process.umask(0o077);
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/** Not for those of whom there are fifty. */
async function commands() {
  const [doctor, setUp, store] = await Promise.all([
    import('../../../src/cli/commands/doctor.ts'),
    import('../../../src/cli/commands/set-up.ts'),
    import('../../../src/cli/places/check-store.ts'),
  ]);
  return { ...doctor, ...setUp, ...store };
}

async function answer(): Promise<object> {
  const { out, lines } = collected();
  if (task === 'doctor') return { exitCode: await (await commands()).doctor(url, process.env, out), lines };
  const place = await openPlace(url, process.env);
  try {
    if (task === 'set-up') await (await commands()).setUp(place, out);
    if (task === 'look') await (await commands()).look(place);
    if (task !== 'acquire') return { lines };
    const { acquire } = place.leases;
    const got = await acquire.call(place.leases, 'one of many', { owner: crypto.randomUUID(), leaseMs: 60_000 });
    return { kind: got.kind };
  } finally {
    await place.close();
  }
}

const told = await answer().catch((error: unknown) => ({
  ...(error as object),
  message: (error as Error).message,
  everything: inspect(error, { depth: 9 }),
}));
process.stdout.write(`${JSON.stringify(told)}\n`);
