/**
 * Run where no file may grow beyond a limit: writes are cut short there. Tells what came of each call.
 */
import { isRerunSafeError } from '../../../src/core/errors.ts';
import { fencedClaimFile, fencedWriteFile, fileLeases } from '../../../src/leases/file/index.ts';

// Otherwise the limit would kill us.
process.on('SIGXFSZ', () => {});

const [, , task, path = ''] = process.argv;
/** As the header and the rest of an entry take more than one block of the limit. */
const LONG = '夜'.repeat(512);
const fence = (token: number) => ({ id: LONG, owner: 'o', token });

async function told(call: () => Promise<unknown>): Promise<void> {
  const answer = await call().then(
    (value) => (value as { kind?: string } | undefined)?.kind ?? 'fulfilled',
    (error) => (isRerunSafeError(error) ? error.code : String(error)),
  );
  process.stdout.write(`${answer}\n`);
}

if (task === 'fence') {
  await told(() => fencedWriteFile(path, fence(10), 'by 10'));
  await told(() => fencedClaimFile(path, fence(20)));
} else if (task === 'data') {
  await told(() => fencedWriteFile(path, { ...fence(10), id: 'short' }, 'x'.repeat(100_000)));
} else {
  const leases = fileLeases({ directory: path });
  await told(() => leases.acquire(LONG, { owner: 'a', leaseMs: 60_000 }));
}
