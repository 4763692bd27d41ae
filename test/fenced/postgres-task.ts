/** What a holder is told. Apart from the worker, which serves as soon as it is loaded. */
export interface Holding {
  readonly name: string;
  readonly leaseMs: number;
  readonly table: string;
  /** Its write is checked by the row, by the lease, or it stops between its write and its COMMIT. */
  readonly form: 'row' | 'lease' | 'in the middle';
  readonly idleTimeoutMs?: number;
}
