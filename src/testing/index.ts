/**
 * For authors of stores and for tests of guarded code: conformance suites, a store that fails where it is told to, and a clock that obeys.
 *
 * @module
 */
export * from './faulty-store.ts';
export * from './virtual-clock.ts';
