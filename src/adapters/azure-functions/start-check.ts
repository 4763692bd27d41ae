/**
 * A look at the app when it starts: what would hurt later, said before it does.
 *
 * @module
 */
import { readFile } from 'node:fs/promises';
import { checkOptions, isFunction, isInteger, isName } from '../../core/options.ts';
import { checkHost, type HostProblem } from './check-host.ts';
import { streamDefault, undecidedOperations } from './stream-default.ts';

export interface StartCheckOptions {
  /** As given to the wrappers of queue functions, ms. Default 60,000. */
  readonly leaseMs?: number;
  /** The file, from the app's folder (the working directory of the worker). Default `host.json`. */
  readonly hostJson?: string;
  /** Told of each finding, a line each. Default `console.warn`. */
  readonly tell?: (line: string) => void;
}

/**
 * For `app.hook.appStart`: says what {@link checkHost} finds in `host.json`, and for which HTTP operations nobody chose `streams`, so that the default
 * (unrecorded) stands. Never fails, and changes nothing: an app that starts is worth more than a check.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when it is built.
 * @example
 * app.hook.appStart(startCheck());
 */
export function startCheck(options: StartCheckOptions = {}): () => Promise<void> {
  checkOptions('startCheck', options, { leaseMs: isInteger(100), hostJson: isName(4_096), tell: isFunction }, []);
  const { leaseMs, hostJson = 'host.json', tell = console.warn } = options;
  return async () => {
    const problems = await problemsIn(hostJson, leaseMs === undefined ? {} : { leaseMs });
    for (const { setting, problem } of problems) tell(`${hostJson}, ${setting}: ${problem}`);
    const undecided = undecidedOperations();
    if (undecided.length > 0) tell(streamDefault(undecided));
  };
}

async function problemsIn(hostJson: string, options: { readonly leaseMs?: number }): Promise<readonly HostProblem[]> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(hostJson, 'utf8'));
  } catch (error) {
    return [{ setting: '(file)', problem: `cannot be read: ${error instanceof Error ? error.message : String(error)}` }];
  }
  return checkHost(parsed, options);
}
