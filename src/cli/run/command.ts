/**
 * The command of a guard, ready to be run under a hold.
 *
 * @module
 */
import { type ChildEnd, runChild } from '../child/run-child.ts';
import type { OpenPlace } from '../places/open.ts';
import { type Held, leaseLostOf } from './hold-of.ts';
import type { ChildSpec } from './spec.ts';

export type RunCommand = (env: Readonly<Record<string, string>>, held: Held, leaseMs: number) => Promise<ChildEnd>;

export const commandOf =
  (spec: ChildSpec, { leases }: Pick<OpenPlace, 'leases'>, say: (sentence: string) => void): RunCommand =>
  (env, held, leaseMs) =>
    // A lock of the kernel is free the moment we die: then there is no time for a command to end in.
    runChild({ ...spec, env, say, hold: { ...leaseLostOf(held, leaseMs), endsWithUs: leases.name === 'file' } });
