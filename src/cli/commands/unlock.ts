/**
 * `unlock`: frees a lease whose holder will not.
 *
 * @module
 */
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { harmless } from './harmless.ts';
import { leaseFacts, leaseSentence, lookAtLease } from './lease-look.ts';

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
export async function unlock({ place, name, token, force = false, out }: UnlockRequest): Promise<number> {
  const shown = `lock ${JSON.stringify(harmless(name))}`;
  const look = await lookAtLease(place, name);
  const tell = (result: string, sentence: string, now = look): void => {
    if (out.isJson) out.json({ kind: 'lease', result, ...leaseFacts(name, now), message: sentence });
    else out.print(`${shown}: ${sentence}`);
  };
  if (look.state === 'none' || look.state === 'free') {
    tell('not-held', look.state === 'none' ? 'nobody has taken it yet; nothing was changed' : 'nobody holds it; nothing was changed');
    return EXIT.ok;
  }
  const held = leaseSentence(look, place.store?.clock.nowMs() ?? Date.now());
  if (token === undefined && !force) {
    throw new UsageError(`${shown} is held (${held}). Say whose: --token ${look.token}, or --force for whoever holds it`);
  }
  if (token !== undefined && look.token !== token) {
    tell('other-token', `another one holds it (${held}), not token ${token}; nothing was changed`);
    return EXIT.busy;
  }
  await place.leases.break(name);
  const now = await lookAtLease(place, name);
  const next = now.state === 'held' && now.token !== look.token ? ` Since then somebody else has taken it (token ${now.token}).` : '';
  tell(
    'broken',
    `broken. Its holder is told when it next renews. A place that compares tokens refuses ${look.token} once the next holder has written there; what it does besides may go on.${next}`,
    now,
  );
  return EXIT.ok;
}
