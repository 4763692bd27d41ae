/**
 * Time slots: which tick of a schedule a run stands for.
 *
 * A slot is a moment, the same for all who ask between two ticks, on whatever host.
 *
 * @module
 */
import { parseDuration } from './duration.ts';
import { UsageError } from './usage-error.ts';

export { parseMoment } from './moment.ts';

const SECOND_MS = 1_000;

/**
 * Epoch ms of the latest tick at or before `nowMs`.
 *
 * `15m`, `24h`: counted from 1970-01-01T00:00Z (so `7d` ticks on Thursdays). A cron expression of five fields, six (seconds first), or `@daily` and its
 * kind; where both day fields are given, either may fit, as cron has it.
 *
 * When clocks change: an expression without `*` and `/` in its time of day ticks once in a repeated hour, the first time round, and at the end of
 * the gap where its time does not exist. Every other one goes by what the clock shows: a repeated hour has its ticks twice, a gap has none. So no day
 * loses its nightly run, and none has two.
 *
 * @param timezone IANA name. Default for cron: this machine's, as cron itself has it; name one where hosts differ. Durations know UTC alone.
 * @throws UsageError
 * @example await slotAt('30 2 * * *', Date.now(), 'Europe/Berlin')
 */
export async function slotAt(schedule: string, nowMs: number, timezone?: string): Promise<number> {
  const given = schedule.trim();
  if (!isCron(given)) {
    const tickMs = parseDuration(given, 'slot (a duration such as 15m, or a cron expression of five or six fields)', { min: SECOND_MS });
    if (tickMs % SECOND_MS !== 0) throw new UsageError(`slot "${schedule}": whole seconds, please`);
    if (timezone !== undefined && timezone.toUpperCase() !== 'UTC')
      throw new UsageError(`slot "${schedule}": a duration is counted in UTC; for ${timezone}, give a cron expression: "0 0 * * *" is each midnight`);
    return nowMs - (nowMs % tickMs);
  }
  const { Cron } = await import('croner');
  const zone = checkedZone(timezone ?? localZone());
  try {
    const cron = new Cron(given, { mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard', timezone: zone, paused: true });
    // One more: what ticks this very moment is meant.
    const tick = cron.previousRuns(1, new Date(nowMs + 1))[0];
    if (tick !== undefined) return tick.getTime();
  } catch (error) {
    throw new UsageError(`slot "${schedule}" is no cron expression: ${(error as Error).message.replace(/^CronPattern: /, '')}`);
  }
  throw new UsageError(`slot "${schedule}": there is no such day; this schedule never ticks`);
}

/** A slot in a key or a line: UTC, without milliseconds. */
export const slotText = (slotMs: number): string => new Date(slotMs).toISOString().replace('.000Z', 'Z');

/** `15 minutes` is a duration. */
const isCron = (schedule: string): boolean => schedule.startsWith('@') || schedule.split(/\s+/).length > 2;

/** Of a TZ that it does not know, the engine says nothing, or `Etc/Unknown`. */
const localZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'Etc/Unknown';

function checkedZone(zone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    const which = zone === 'Etc/Unknown' ? `this machine's time zone (TZ is "${process.env.TZ ?? ''}")` : `time zone "${zone}"`;
    throw new UsageError(`${which} is unknown; name one, such as Europe/Berlin or UTC`);
  }
}
