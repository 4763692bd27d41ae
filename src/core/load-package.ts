/**
 * Optional packages, loaded on first use.
 *
 * @module
 */
import { storeMisconfigured } from './errors.ts';

/** `import()` of what is loaded already still takes ten µs, with each request. What failed is tried again. */
const loaded = new Map<string, unknown>();

/**
 * The import stays with the caller, written out: only so do bundlers, and the check of declared packages, see which package it is.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED`, saying what to install, with what the import threw as its cause.
 *
 * @example const sdk = await loadPackage('@azure/identity', () => import('@azure/identity'));
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    const known = loaded.get(name) ?? (await load());
    loaded.set(name, known);
    return known as T;
  } catch (cause) {
    throw storeMisconfigured(`the package ${name} could not be loaded. Install it beside rerunsafe: npm install ${name}`, cause);
  }
}
