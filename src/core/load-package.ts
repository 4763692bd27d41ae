/**
 * Optional packages, loaded on first use.
 *
 * @module
 */
import { storeMisconfigured } from './errors.ts';

/**
 * The import stays with the caller, written out: only so do bundlers, and the check of declared packages, see which package it is.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED`, saying what to install, with what the import threw as its cause.
 *
 * @example const sdk = await loadPackage('@azure/identity', () => import('@azure/identity'));
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw storeMisconfigured(`the package ${name} could not be loaded. Install it beside rerunsafe: npm install ${name}`, cause);
  }
}
