/**
 * What a worker on a database file can be told to do. Apart from the worker, which does it as soon as it is loaded.
 *
 * @module
 */
export type SqliteTask =
  | { readonly do: 'add'; readonly id: string; readonly times: number }
  | { readonly do: 'keep writing' }
  | { readonly do: 'die inside'; readonly transition: 'create' | 'replace'; readonly id: string; readonly afterStatements: number }
  | { readonly do: 'leave open' };
