/**
 * What a guarded command leaves as its outcome, as far as it is there: an earlier or later version may have kept less, or more.
 *
 * @module
 */
import { types } from 'node:util';

export interface CommandValue {
  readonly exitCode: number;
  readonly startedAt?: string;
  readonly durationMs?: number;
  /** `user@host pid 12`, as much of it as was kept. */
  readonly by?: string;
  readonly gitSha?: string;
  readonly ciRunUrl?: string;
  readonly command?: string;
  /** The end of its output, in the order in which it came. */
  readonly tail?: string;
  /** A person's word stands for it. */
  readonly resolvedBy?: string;
  readonly resolvedAt?: string;
}

/** undefined: another program's value. */
export function commandValue(value: unknown): CommandValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const kept = value as Record<string, unknown>;
  if (typeof kept.exitCode !== 'number' || !(typeof kept.durationMs === 'number' || typeof kept.resolvedAt === 'string' || 'startedAt' in kept)) {
    return undefined;
  }
  const by = whoOf(kept);
  return {
    exitCode: kept.exitCode,
    ...text('startedAt', timeOf(kept.startedAt)),
    ...(typeof kept.durationMs === 'number' ? { durationMs: kept.durationMs } : {}),
    ...text('by', by),
    ...text('gitSha', kept.gitSha),
    ...text('ciRunUrl', kept.ciRunUrl),
    ...text('command', Array.isArray(kept.command) ? kept.command.map(String).join(' ') : kept.command),
    ...text('tail', tailOf(kept.tail)),
    ...text('resolvedBy', kept.resolvedBy),
    ...text('resolvedAt', timeOf(kept.resolvedAt)),
  };
}

const text = <N extends string>(name: N, value: unknown): { [K in N]?: string } =>
  (typeof value === 'string' && value !== '' ? { [name]: value } : {}) as { [K in N]?: string };

const timeOf = (value: unknown): unknown => {
  const ms = typeof value === 'number' ? value : Number.NaN;
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : value;
};

/** A piece may end in the middle of a character, which then is shown as what it is not. */
function tailOf(value: unknown): unknown {
  const pieces: readonly unknown[] = Array.isArray(value) ? value.map((piece) => (piece as { bytes?: unknown } | null)?.bytes) : [value];
  const bytes = pieces.filter((piece) => types.isUint8Array(piece));
  return bytes.length === 0 ? value : Buffer.concat(bytes).toString('utf8');
}

function whoOf({ user, host, pid }: Record<string, unknown>): string {
  const at = [user, host].filter((part) => typeof part === 'string' && part !== '').join('@');
  return typeof pid === 'number' ? `${at} pid ${pid}`.trim() : at;
}
