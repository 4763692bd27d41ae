/**
 * What the promises ask of a store's stage.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { RecordStore } from '../../src/core/ports.ts';
import type { FaultProxy, ProxiedRequest } from './proxy.ts';

export type WireOperation = 'create' | 'replace' | 'delete' | 'read';

/** Whose client a store talks through. */
export const WIRE_CLIENTS = ['a client of our own', 'a client with the defaults of the SDK', 'a client that never tries again'] as const;
export type WireClient = (typeof WIRE_CLIENTS)[number];

export interface Wire {
  readonly proxy: FaultProxy;
  /**
   * Over the same table as `store`; every request goes through the proxy. A new client each time: SDKs stop trying again where one client has seen too
   * many failures.
   */
  open(client: WireClient): Required<Pick<RecordStore, 'close'>> & RecordStore;
  /** Whether a request is that operation on that record. */
  is(operation: WireOperation, id: string): (request: ProxiedRequest) => boolean;
}

export interface StoreSubject {
  /** Not through the proxy. */
  readonly store: RecordStore;
  readonly proxy?: FaultProxy;
  readonly wire?: Wire;
  /** A table that does not exist, or may not be used. Absent where there are no tables. */
  missingTable?(): RecordStore;
  /** A port on which nobody listens. */
  nowhere?(): RecordStore;
  /** The same table, seen by a clock that is so much ahead; absent where the store alone tells the time. */
  ahead?(ms: number): RecordStore;
  stop(): Promise<void>;
}

export interface SubjectKind {
  readonly name: string;
  /** What every lapse takes beyond the lease, ms. */
  readonly uncertaintyMs: number;
  /** A refused write brings the record that stands there; elsewhere it is read, with one more request. */
  readonly returnsStanding: boolean;
  /** Reached over a network: it can be down, and its table can be missing. */
  readonly remote: boolean;
  /** Default: all of them. */
  readonly wireClients?: readonly WireClient[];
  start(): Promise<StoreSubject>;
}

export const concerns = ({ path, body }: ProxiedRequest, id: string): boolean => path.includes(id) || body.includes(id);
export const freshName = (): string => `t${randomUUID().replaceAll('-', '')}`;
