/**
 * The occurrence of a schedule that a run stands for, where the host does not say it (`useMonitor: false`, more than one a minute).
 *
 * @module
 */

/** Hosts fire up to a second early. */
const EARLY_MS = 1_000;

/**
 * Epoch ms of the occurrence nearest to `nowMs`: the last one, or the next when that is all but due. undefined where the schedule names no moments: a
 * TimeSpan counts from each host's own start, and what is no NCRONTAB expression is the host's to refuse.
 *
 * @param schedule NCRONTAB with six fields (seconds first) or five; `%NAME%` is an app setting.
 */
export async function occurrenceAt(schedule: unknown, nowMs: number, settings: NodeJS.ProcessEnv = process.env): Promise<number | undefined> {
  const pattern = typeof schedule === 'string' ? schedule.replace(/^%(.+)%$/, (_, name: string) => settings[name] ?? '') : '';
  if (!/^\S+(\s+\S+){4,5}$/.test(pattern.trim())) return undefined;
  const { Cron } = await import('croner');
  try {
    // As NCRONTAB has it: day of month and day of week must both fit. The time zone is the platform's own setting.
    const cron = new Cron(pattern.trim(), { timezone: settings.WEBSITE_TIME_ZONE ?? 'UTC', domAndDow: true, paused: true });
    const now = new Date(nowMs);
    // One more: what is due this very moment is meant.
    const last = cron.previousRuns(1, new Date(nowMs + 1))[0]?.getTime();
    const next = cron.nextRun(now)?.getTime();
    if (last === undefined || next === undefined) return last;
    // No more than a quarter of the pause between two: else a late run would be taken for an early one.
    return next - nowMs <= Math.min(EARLY_MS, (next - last) / 4) ? next : last;
  } catch {
    return undefined;
  }
}
