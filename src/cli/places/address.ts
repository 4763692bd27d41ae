/**
 * Where a store is, as its URL says.
 *
 * @module
 */
import type { SharedWith } from '../../leases/file/options.ts';

/** `user`: made at first use. `host`: for all users, made by an administrator. `own`: where a person said. */
export type Keeper = 'user' | 'host' | 'own';

export type Where =
  | { readonly kind: 'sqlite'; readonly keeper: Keeper; readonly path: string }
  | { readonly kind: 'file'; readonly keeper: Keeper; readonly directory: string; readonly sharedWith: SharedWith }
  | { readonly kind: 'postgres'; readonly connectionString?: string; readonly tableName?: string; readonly schema?: string }
  | { readonly kind: 'redis'; readonly connectionUrl: string; readonly prefix?: string; readonly acceptFailoverLoss: boolean }
  | { readonly kind: 'dynamodb'; readonly tableName: string; readonly region?: string; readonly endpoint?: string }
  | { readonly kind: 'azure-tables'; readonly tableName?: string; readonly connection?: string }
  | { readonly kind: 'azure-blob'; readonly containerName?: string; readonly connection?: string };

export interface Address {
  /** Means the same in every folder. */
  readonly url: string;
  /** Without secrets. */
  readonly shown: string;
  readonly where: Where;
}
