/**
 * For authors of stores and for tests of guarded code: conformance suites, a store that fails where it is told to, and a clock that obeys.
 *
 * @module
 */
export * from './faulty-store.ts';
export { type LeaseProviderConformanceOptions, leaseProviderConformance } from './leases/index.ts';
export type { LeaseRaceSizes } from './leases/races.ts';
export type { LeaseSubject } from './leases/subject.ts';
export { type RecordStoreConformanceOptions, recordStoreConformance } from './record-store/index.ts';
export type { RaceSizes, RecordStoreSubject } from './record-store/subject.ts';
export type { Describe, It } from './suite.ts';
export * from './virtual-clock.ts';
