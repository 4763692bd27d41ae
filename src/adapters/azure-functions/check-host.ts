/**
 * What in a `host.json` makes a throw cost more than one delivery.
 *
 * @module
 */
import { DEFAULT_LEASE_MS } from '../../core/guard.ts';
import { checkOptions, isInteger } from '../../core/options.ts';
import { BOUNDED_WAIT_MS } from './trigger.ts';

export interface HostProblem {
  /** Where: `extensions.queues.visibilityTimeout`. */
  readonly setting: string;
  /** A sentence: what happens, and what to set. */
  readonly problem: string;
}

type Section = Readonly<Record<string, unknown>>;

/** A store that is down for a moment must be up again before the deliveries of a message are used up. */
const MIN_PATIENCE_MS = 60_000;
const DEFAULT_DEQUEUE_COUNT = 5;

/**
 * Looks at a parsed `host.json` (settings of the environment, `AzureFunctionsJobHost__…`, are not in it) for what makes a throw hurt. Pure; reads no
 * file; `startCheck` does that for an app that starts. An empty array: nothing found.
 *
 * @param hostJson the parsed file
 * @param options `leaseMs`: as given to the wrappers. Default 60,000.
 * @throws RerunSafeError `INVALID_OPTIONS` for options it does not know.
 * @example
 * for (const { setting, problem } of checkHost(JSON.parse(await readFile('host.json', 'utf8')))) console.warn(`host.json, ${setting}: ${problem}`);
 */
export function checkHost(hostJson: unknown, options: { readonly leaseMs?: number } = {}): readonly HostProblem[] {
  checkOptions('checkHost', options, { leaseMs: isInteger(100) });
  const { leaseMs = DEFAULT_LEASE_MS } = options;
  if (!isSection(hostJson)) return [{ setting: '(file)', problem: 'is not a JSON object.' }];
  const problems: HostProblem[] = [];
  if (at(hostJson, 'queues') !== undefined) {
    problems.push({ setting: 'queues', problem: 'is where version 1 looked; it is not read. Move it into extensions.' });
  }
  return [...problems, ...queueProblems(hostJson, leaseMs), ...serviceBusProblems(hostJson, leaseMs)];
}

function queueProblems(hostJson: Section, leaseMs: number): HostProblem[] {
  const found = at(hostJson, 'extensions', 'queues', 'visibilityTimeout');
  const setting = 'extensions.queues.visibilityTimeout';
  const pauseMs = found === undefined ? 0 : timeSpanMs(found);
  if (pauseMs === undefined) return [{ setting, problem: 'is not a time of the form "hh:mm:ss".' }];
  const given = at(hostJson, 'extensions', 'queues', 'maxDequeueCount') ?? DEFAULT_DEQUEUE_COUNT;
  if (!Number.isInteger(given) || (given as number) < 1) {
    return [{ setting: 'extensions.queues.maxDequeueCount', problem: 'is not a whole number of at least 1.' }];
  }
  const deliveries = given as number;
  if (deliveries === 1) {
    return [
      {
        setting: 'extensions.queues.maxDequeueCount',
        problem: 'is 1: a message whose consumer crashed, and a duplicate of one that is still running, goes to the poison queue at once. Set 5.',
      },
    ];
  }
  // Between the first delivery and the last there is one pause less than deliveries.
  const patienceMs = (deliveries - 1) * pauseMs;
  const neededMs = Math.max(MIN_PATIENCE_MS, leaseMs);
  if (patienceMs >= neededMs) return [];
  return [
    {
      setting,
      problem: `is ${found === undefined ? 'not set, so it is 0' : pauseMs === 0 ? '0' : `${pauseMs / 1_000} s`}: after a throw a message is delivered again ${pauseMs === 0 ? 'at once' : 'too soon'}, and ${deliveries} deliveries are used up ${pauseMs === 0 ? 'within moments' : `within ${patienceMs / 1_000} s`}, before a store that is away is back or the lease of a crashed run (${leaseMs / 1_000} s) is over; then the message is in the poison queue. Set "${timeSpan(Math.ceil(neededMs / (deliveries - 1)))}" or more.`,
    },
  ];
}

function serviceBusProblems(hostJson: Section, leaseMs: number): HostProblem[] {
  const problems: HostProblem[] = [];
  const complete = at(hostJson, 'extensions', 'serviceBus', 'autoCompleteMessages');
  if (complete === false) {
    problems.push({
      setting: 'extensions.serviceBus.autoCompleteMessages',
      problem: 'is false: nobody settles a finished message, so it comes back until it is dead-lettered. Leave it out.',
    });
  }
  const renewal = at(hostJson, 'extensions', 'serviceBus', 'maxAutoLockRenewalDuration');
  if (renewal === undefined) return problems;
  const renewalMs = timeSpanMs(renewal);
  const waitMs = Math.min(leaseMs, BOUNDED_WAIT_MS);
  const setting = 'extensions.serviceBus.maxAutoLockRenewalDuration';
  if (renewalMs === undefined) problems.push({ setting, problem: 'is not a time of the form "hh:mm:ss".' });
  else if (renewalMs < waitMs) {
    problems.push({
      setting,
      problem: `is ${renewalMs / 1_000} s: a duplicate waits for the first for up to ${waitMs / 1_000} s and may lose the lock of its message in that time. Set "${timeSpan(waitMs)}" or more, or leave it out.`,
    });
  }
  return problems;
}

/** The host reads names in any case. */
function at(section: unknown, ...path: readonly string[]): unknown {
  let value: unknown = section;
  for (const name of path) {
    if (!isSection(value)) return undefined;
    value = Object.entries(value).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  }
  return value ?? undefined;
}

const isSection = (value: unknown): value is Section => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `[d.]hh:mm:ss[.fffffff]` in ms. */
function timeSpanMs(value: unknown): number | undefined {
  const parts = typeof value === 'string' ? /^(?:(\d+)\.)?(\d{1,2}):([0-5]?\d)(?::([0-5]?\d(?:\.\d{1,7})?))?$/.exec(value.trim()) : null;
  if (parts === null) return undefined;
  const [, days = '0', hours = '0', minutes = '0', seconds = '0'] = parts;
  if (Number(hours) > 23) return undefined;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000 + Math.round(Number(seconds) * 1_000);
}

const timeSpan = (ms: number): string => {
  const seconds = Math.ceil(ms / 1_000);
  const days = Math.floor(seconds / 86_400);
  return `${days === 0 ? '' : `${days}.`}${new Date((seconds % 86_400) * 1_000).toISOString().slice(11, 19)}`;
};
