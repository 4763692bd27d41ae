/**
 * What is done to each peer alike, and what is looked at afterwards.
 *
 * @module
 */
import type { Stage } from '../stage.ts';

export interface Check {
  /** Of its scenario. */
  readonly id: string;
  /** Of this project's contract. */
  readonly promise: string;
  /** What it is when it is broken. */
  readonly broken: string;
}

export interface Trial {
  /** By the id of the check. */
  readonly broken: Readonly<Record<string, boolean>>;
  /** What happened, in a few words that are counted. */
  readonly seen: string;
}

export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly kind: 'calls' | 'locks';
  /** The workers it needs, ready before it begins: to start one takes a second, which is half a lease. */
  readonly hands: readonly string[];
  readonly checks: readonly Check[];
  /** All requests go over a proxy. */
  readonly wired?: boolean;
  /** It restarts a server: one trial at a time. */
  readonly alone?: boolean;
  readonly trial: (stage: Stage) => Promise<Trial>;
}
