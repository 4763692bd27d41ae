/**
 * `doctor`: tries everything that a run needs, and says what to do about what does not work. Leaves nothing behind but the row of one lease.
 *
 * @module
 */
import { EXIT } from '../exit-codes.ts';
import type { Out } from '../out.ts';
import type { Address } from '../places/address.ts';
import { checkFiles } from '../places/check-files.ts';
import { checkNode, checkPackage, checkSwitch } from '../places/check-machine.ts';
import { checkClock, checkKeeping, checkLeases, checkReach, checkRecords } from '../places/check-store.ts';
import { type Finding, failed, fine } from '../places/finding.ts';
import { type OpenPlace, openAddress } from '../places/open.ts';
import { parseStoreUrl } from '../places/parse.ts';

/**
 * Takes the URL, not an open place: that it cannot be opened is for the doctor to say.
 *
 * @returns the exit code: 0, 69 where all that is wrong is that the store cannot be reached, 78 where a person has to act
 * @throws UsageError where the URL names no store
 */
export async function doctor(url: string, env: NodeJS.ProcessEnv, out: Out): Promise<number> {
  const findings: Finding[] = [];
  for await (const finding of examine(parseStoreUrl(url, env), env)) {
    findings.push(finding);
    if (!out.isJson) say(finding, out);
  }
  const problems = findings.filter(({ check }) => !check.ok);
  if (out.isJson) out.json(findings.map(({ check }) => check));
  else out.print(problems.length === 0 ? 'All is well.' : `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}.`);
  return problems.some(({ exitCode }) => exitCode === EXIT.config) ? EXIT.config : (problems[0]?.exitCode ?? EXIT.ok);
}

function say({ check: { check, ok, detail, remedy } }: Finding, out: Out): void {
  out.print(`${ok ? 'ok     ' : 'problem'}  ${check}: ${detail}`);
  if (remedy !== undefined) out.print(`         -> ${remedy}`);
}

async function* examine(address: Address, env: NodeJS.ProcessEnv): AsyncGenerator<Finding> {
  yield checkNode(process.versions.node);
  yield checkSwitch(env);
  yield fine('store', address.shown);
  const driver = await checkPackage(address.where.kind);
  yield driver;
  if (!driver.check.ok) return;
  let place: OpenPlace;
  try {
    place = await openAddress(address, env);
  } catch (error) {
    yield failed('place', error);
    return;
  }
  try {
    yield* examinePlace(place, address);
  } finally {
    await place.close();
  }
}

async function* examinePlace(place: OpenPlace, address: Address): AsyncGenerator<Finding> {
  const { kind } = address.where;
  const files = await checkFiles(address.where);
  yield* files;
  if (files.some(({ check }) => !check.ok && check.check === 'folder')) return;
  const reach = await checkReach(place, address);
  yield* reach;
  if (reach.some(({ check }) => !check.ok)) return;
  const { store, leases } = place;
  if (store !== undefined) {
    if (kind === 'redis') yield await checkKeeping(store);
    yield await checkRecords(store);
    if (kind !== 'sqlite') yield checkClock(store);
  }
  yield await checkLeases(leases);
}
