/**
 * What can be told before the store is looked at.
 *
 * @module
 */
import { loadPackage } from '../../core/load-package.ts';
import type { Where } from './address.ts';
import { type Finding, failed, fine, problem } from './finding.ts';

const LEAST_NODE = [22, 13] as const;

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  const least = LEAST_NODE.join('.');
  return isEnough ? fine('Node', version) : problem('Node', `${version} is older than ${least}`, `Install Node ${least} or later.`);
}

export const checkSwitch = (env: NodeJS.ProcessEnv): Finding =>
  env.RERUNSAFE_DISABLED === '1'
    ? problem('switched on', 'RERUNSAFE_DISABLED=1: nothing is guarded, every run runs', 'Remove the variable RERUNSAFE_DISABLED.')
    : fine('switched on', 'RERUNSAFE_DISABLED is not set');

/** Written out each, so that the check of declared packages sees them. */
const PACKAGES: Readonly<Partial<Record<Where['kind'], readonly [name: string, load: () => Promise<unknown>]>>> = {
  sqlite: ['node:sqlite', () => import('node:sqlite')],
  postgres: ['pg', () => import('pg')],
  redis: ['redis or ioredis', () => import('redis').catch(() => import('ioredis'))],
  dynamodb: ['@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb')],
  'azure-tables': ['@azure/data-tables', () => import('@azure/data-tables')],
  'azure-blob': ['@azure/storage-blob', () => import('@azure/storage-blob')],
  // @ts-expect-error: the package brings no types.
  file: ['fs-native-extensions', () => import('fs-native-extensions')],
};

export async function checkPackage(kind: Where['kind']): Promise<Finding> {
  const [name, load] = PACKAGES[kind] ?? [kind, async () => {}];
  try {
    await loadPackage(name, load);
    return fine('package', name);
  } catch (error) {
    const [one = name] = name.split(' ');
    return failed('package', error, one.startsWith('node:') ? `Install Node ${LEAST_NODE.join('.')} or later.` : `Run: npm install ${one}`);
  }
}
