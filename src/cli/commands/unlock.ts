/**
 * `unlock`: frees a lease whose holder will not.
 *
 * @module
 */
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import type { Answer } from './answer.ts';
import { harmless } from './harmless.ts';
import { type LeaseLook, leaseFacts, leaseSentence, lookAtLease } from './lease-look.ts';

export interface UnlockRequest {
  readonly place: OpenPlace;
  readonly name: string;
  /** The one that is to lose it, as `status` shows it: another holder is left alone. */
  readonly token?: number | undefined;
  /** Whoever holds it. */
  readonly force?: boolean | undefined;
  readonly out: Screen;
}

/**
 * Exit code: 0 it is free now, or nobody held it; 75 another than `token` holds it: nothing was changed.
 *
 * The port knows no break on condition of a token. It is looked at right before: between the two, somebody else can take it, and would lose it.
 *
 * @throws UsageError for neither a token nor force while it is held; RerunSafeError `STORE_UNAVAILABLE`, `WRITE_UNKNOWN`, …
 */
export async function unlock({ out, ...asked }: UnlockRequest): Promise<number> {
  const { exitCode, result, sentence, now } = await unlocked(asked);
  if (out.isJson) out.json({ kind: 'lease', result, ...leaseFacts(asked.name, now), message: sentence });
  else out.print(`${shownLock(asked.name)}: ${sentence}`);
  return exitCode;
}

const shownLock = (name: string): string => `lock ${JSON.stringify(harmless(name))}`;

/** What has come of it, and how the lease stands now. @throws as {@link unlock} */
export async function unlocked({ place, name, token, force = false }: Omit<UnlockRequest, 'out'>): Promise<Answer & { readonly now: LeaseLook }> {
  const look = await lookAtLease(place, name);
  if (look.state === 'none' || look.state === 'free') {
    const sentence = look.state === 'none' ? 'nobody has taken it yet; nothing was changed' : 'nobody holds it; nothing was changed';
    return { exitCode: EXIT.ok, result: 'not-held', sentence, now: look };
  }
  const held = leaseSentence(look, place.store?.clock.nowMs() ?? Date.now());
  if (token === undefined && !force) {
    throw new UsageError(`${shownLock(name)} is held (${held}). Say whose: --token ${look.token}, or --force for whoever holds it`);
  }
  if (token !== undefined && look.token !== token) {
    const sentence = `another one holds it (${held}), not token ${token}; nothing was changed`;
    return { exitCode: EXIT.busy, result: 'other-token', sentence, now: look };
  }
  await place.leases.break(name);
  const now = await lookAtLease(place, name);
  const next = now.state === 'held' && now.token !== look.token ? ` Since then somebody else has taken it (token ${now.token}).` : '';
  const sentence = `broken. Its holder is told when it next renews. A place that compares tokens refuses ${look.token} once the next holder has written there; what it does besides may go on.${next}`;
  return { exitCode: EXIT.ok, result: 'broken', sentence, now };
}
