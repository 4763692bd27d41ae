/**
 * S10: what a job does at its end: writes a report, under the fence that it was lent. Prints what came of it.
 *
 * @module
 */
import { fencedWriteFile } from '../../src/leases/file/index.ts';

const [, , path = '', text = ''] = process.argv;
const { RERUNSAFE_FENCE = '' } = process.env;

const became = await fencedWriteFile(path, JSON.parse(RERUNSAFE_FENCE === '' ? 'null' : RERUNSAFE_FENCE), text).then(
  () => 'written',
  (error: { code?: string }) => error.code ?? String(error),
);
process.stdout.write(`${became}\n`);
