/**
 * What is asked of a driver: `pg.Pool`, `pg.Client` and the clients of a pool are all of this shape.
 *
 * @module
 */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
}

/** A connection of a pool, until it is released. */
export interface PoolClientLike extends Queryable {
  /** With an error, or `true`, it is thrown away instead of handed out again. */
  release(error?: Error | boolean): void;
}

export interface PoolLike extends Queryable {
  connect(): Promise<PoolClientLike>;
}
