/**
 * `rerunsafe/log`: what happens to runs and leases, in the user's own log.
 *
 * @module
 */
export type { Level } from './lines.ts';
export { type EventLogger, type LogEventsOptions, logEvents } from './log-events.ts';
