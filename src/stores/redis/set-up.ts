/**
 * There is nothing to make. What can be looked at is whether the server would throw records away by itself.
 *
 * @module
 */
import { isRerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import type { Connection } from './connection.ts';

/** @throws RerunSafeError `STORE_MISCONFIGURED` where a full server removes records that nobody has told it to. */
export async function checkEviction(connection: Connection): Promise<void> {
  for (const send of await connection.masters()) {
    const info = await memoryInfo(send);
    const setting = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
    const policy = setting('maxmemory_policy');
    // 0: no limit, so nothing is ever thrown away.
    if (Number(setting('maxmemory') || 0) === 0 || policy === '' || policy === 'noeviction') continue;
    const lost = policy.startsWith('allkeys') ? 'running records, leases and their tokens' : 'completed records, before their retention is over';
    throw storeMisconfigured(
      `the server has maxmemory-policy ${policy}: when it is full it throws away ${lost}, and work is done a second time. Use a server with noeviction for the store.`,
    );
  }
}

/** INFO tells what CONFIG GET would, and managed servers allow it. Where it does not, nobody can be asked. */
async function memoryInfo(send: (command: readonly string[]) => Promise<unknown>): Promise<string> {
  try {
    return String(await send(['INFO', 'memory']));
  } catch (error) {
    if (isRerunSafeError(error, 'STORE_MISCONFIGURED') && /NOPERM/.test(error.message)) return '';
    throw error;
  }
}
