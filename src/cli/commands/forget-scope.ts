/**
 * `forget-scope`: everything that is kept on behalf of somebody.
 *
 * @module
 */
import { forgetScope as forgetAll } from '../../core/forget-scope.ts';
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { type WordOptions, wordOf } from './answer.ts';
import { recordsOf } from './find-run.ts';
import { harmless } from './harmless.ts';

export interface ForgetScopeRequest extends WordOptions {
  readonly place: OpenPlace;
  readonly scope: string;
  /** Default: all of them. */
  readonly operation?: string | undefined;
  readonly out: Screen;
}

/**
 * Exit code: 0 all of it is forgotten, or there was nothing; 75 some of it is running, and was left alone.
 *
 * @throws UsageError for an empty scope; RerunSafeError `STORE_UNAVAILABLE`, `WRITE_UNKNOWN`, …: what was forgotten before stays so.
 */
export async function forgetScope({ place, scope, operation, out, ...said }: ForgetScopeRequest): Promise<number> {
  if (scope === '') throw new UsageError("the scope is empty: what was kept without a scope is nobody's");
  const { forgotten, running, failures } = await forgetAll({
    store: recordsOf(place),
    scope,
    ...(operation === undefined ? {} : { operation }),
    ...wordOf(said),
  });
  if (out.isJson) out.json({ forgotten, running, failed: failures.length });
  else {
    const name = `scope ${JSON.stringify(harmless(scope))}`;
    out.print(
      `${name}: ${forgotten} forgotten, ${running} running${running === 0 ? '' : ' and left alone: say it again when they have ended, or use --force'}`,
    );
    out.print('What lay in parts beside its record, and what is left of each record, goes with `rerunsafe purge` in an hour.');
  }
  const [failed] = failures;
  if (failed !== undefined) throw failed.error;
  return running === 0 ? EXIT.ok : EXIT.busy;
}
