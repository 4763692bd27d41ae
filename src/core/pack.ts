/**
 * Large outcomes are kept compressed: stores charge by size, for each replay again, and have limits.
 *
 * @module
 */
import { storeMisconfigured } from './errors.ts';
import type { Whole } from './record.ts';

export type Packed = Extract<Whole, { kind: 'packed' }>;

/** Below, it saves next to nothing. DynamoDB counts reads in units of 4 KB. */
const PACK_FROM = 4_096;
/** What an outcome may unpack to: nothing of ours is larger, and nobody's row may fill the memory. */
const MOST_UNPACKED_BYTES = 512 * 1_048_576;

// Loaded with the first large value.
const zlib = () => process.getBuiltinModule('node:zlib');

/** As it is where compressing does not make it at least a fifth smaller. */
export function packed<O extends Whole>(outcome: O): O | Packed {
  if (outcome.kind !== 'value' && outcome.kind !== 'error') return outcome;
  const text = JSON.stringify(outcome);
  if (text.length < PACK_FROM) return outcome;
  const small = zlib().deflateRawSync(text).toString('base64');
  if (small.length > text.length * 0.8) return outcome;
  return { kind: 'packed', packed: small, ...(outcome.kind === 'value' && outcome.resolved ? { resolved: true } : {}) };
}

/** @throws RerunSafeError `STORE_MISCONFIGURED`: somebody has changed it. Nothing was run. */
export function unpacked<O extends Whole>(outcome: O): Exclude<O, Packed> {
  if (outcome.kind !== 'packed') return outcome as Exclude<O, Packed>;
  try {
    const bytes = zlib().inflateRawSync(Buffer.from(outcome.packed, 'base64'), { maxOutputLength: MOST_UNPACKED_BYTES });
    return JSON.parse(bytes.toString('utf8')) as Exclude<O, Packed>;
  } catch (cause) {
    throw storeMisconfigured('what is stored is compressed and does not unpack: somebody changed it.', cause);
  }
}
