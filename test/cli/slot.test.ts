import { afterEach, describe, expect, it } from 'vitest';
import { parseMoment, slotAt, slotText } from '../../src/cli/slot.ts';
import { UsageError } from '../../src/cli/usage-error.ts';

const at = Date.parse;
const slotOf = async (schedule: string, now: string, zone?: string): Promise<string> => slotText(await slotAt(schedule, at(now), zone));
const BERLIN = 'Europe/Berlin';

describe('slots of durations', () => {
  it.each([
    ['15m', '2026-05-01T10:14:59.999Z', '2026-05-01T10:00:00Z'],
    ['15m', '2026-05-01T10:15:00.000Z', '2026-05-01T10:15:00Z'],
    ['24h', '2026-05-01T23:59:59Z', '2026-05-01T00:00:00Z'],
    ['7d', '2026-05-01T00:00:00Z', '2026-04-30T00:00:00Z'],
    ['7 days', '2026-05-01T00:00:00Z', '2026-04-30T00:00:00Z'],
    ['1s', '2026-05-01T00:00:00.999Z', '2026-05-01T00:00:00Z'],
  ])('%s at %s began at %s: counted from the epoch in UTC', async (schedule, now, expected) => {
    expect(await slotOf(schedule, now)).toBe(expected);
    expect(await slotOf(schedule, now, 'UTC')).toBe(expected);
  });
});

describe('slots of cron expressions', () => {
  it.each([
    ['0 2 * * *', '2026-05-01T02:00:00.000Z', '2026-05-01T02:00:00Z', 'a tick is its own slot'],
    ['0 2 * * *', '2026-05-01T01:59:59.999Z', '2026-04-30T02:00:00Z', 'just before it, the one of the day before'],
    ['*/10 * * * * *', '2026-05-01T02:00:19.500Z', '2026-05-01T02:00:10Z', 'six fields have seconds first'],
    ['0 0 1 * MON', '2026-05-05T00:00:00Z', '2026-05-04T00:00:00Z', 'either of the day fields may fit'],
    ['0 0 29 2 *', '2027-05-01T00:00:00Z', '2024-02-29T00:00:00Z', 'years back'],
    ['@daily', '2026-05-01T17:00:00Z', '2026-05-01T00:00:00Z', 'by its name'],
    ['  0   2 * * * ', '2026-05-01T03:00:00Z', '2026-05-01T02:00:00Z', 'blanks are nothing'],
    ['? 2 * * *', '2026-05-01T02:41:10Z', '2026-05-01T02:41:00Z', '? is *, whatever the present minute is'],
  ])('%s at %s is %s: %s', async (schedule, now, expected) => {
    expect(await slotOf(schedule, now, 'UTC')).toBe(expected);
  });

  it.each([
    ['30 2 * * *', '2026-03-29T00:59:59Z', '2026-03-28T01:30:00Z', 'gap, a fixed time: not yet'],
    ['30 2 * * *', '2026-03-29T01:00:00Z', '2026-03-29T01:00:00Z', 'gap, a fixed time: at its end'],
    ['30 2 * * *', '2026-03-29T12:00:00Z', '2026-03-29T01:00:00Z', 'gap, a fixed time: all day long'],
    ['30 2,14 * * *', '2026-03-29T11:00:00Z', '2026-03-29T01:00:00Z', 'gap, a list is fixed, too'],
    ['*/30 * * * *', '2026-03-29T01:10:00Z', '2026-03-29T01:00:00Z', 'gap, by the clock: 03:00 follows 01:30'],
    ['30 2 * * *', '2026-10-25T00:30:00Z', '2026-10-25T00:30:00Z', 'repeated hour, a fixed time: the first time round'],
    ['30 2 * * *', '2026-10-25T01:45:00Z', '2026-10-25T00:30:00Z', 'repeated hour, a fixed time: not again'],
    ['0 2,3 * * *', '2026-10-25T01:30:00Z', '2026-10-25T00:00:00Z', 'repeated hour, a list: not again'],
    ['0 * * * *', '2026-10-25T00:59:00Z', '2026-10-25T00:00:00Z', 'repeated hour, by the clock: the first'],
    ['0 * * * *', '2026-10-25T01:10:00Z', '2026-10-25T01:00:00Z', 'repeated hour, by the clock: the second'],
  ])('when clocks change, %s at %s is %s: %s', async (schedule, now, expected) => {
    expect(await slotOf(schedule, now, BERLIN)).toBe(expected);
  });

  it.each([
    ['30 2 * * *', 'Europe/Berlin', 1],
    ['0 2,3 * * *', 'America/New_York', 2],
    ['15 1-2 * * *', 'Australia/Lord_Howe', 2],
  ])('no day on which clocks change loses all runs of %s in %s, and none has one more', async (schedule, zone, perDay) => {
    const days = new Map<string, Set<number>>();
    const day = new Intl.DateTimeFormat('sv', { timeZone: zone });
    // The two changes of each zone lie in these.
    for (const [from, to] of [
      ['2026-03-06', '2026-04-08'],
      ['2026-10-02', '2026-11-04'],
    ] as const)
      for (let now = at(from); now < at(to); now += 1_800_000) {
        const slot = await slotAt(schedule, now, zone);
        const name = day.format(slot);
        // The first day and the last are not seen whole.
        if (name > from && name < to) days.set(name, (days.get(name) ?? new Set()).add(slot));
      }
    const counts = [...days.values()].map((slots) => slots.size);
    expect(counts).toHaveLength(32 + 32);
    expect(Math.max(...counts)).toBe(perDay);
    // What lies in a gap moves to its end, where another may be.
    expect(counts.filter((count) => count !== perDay).length).toBeLessThanOrEqual(perDay - 1);
  });

  it('all who ask within a tick have one slot, and it is never ahead of them', async () => {
    const start = at('2026-10-25T00:00:00Z');
    const answers = await Promise.all([0, 1, 999, 1_000, 59_999, 299_999].map((later) => slotAt('*/5 * * * *', start + later, BERLIN)));
    expect(new Set(answers)).toEqual(new Set([start]));
  });
});

describe('time zones', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  it.each([
    ['Asia/Kolkata', '2026-04-30T20:30:00Z'],
    ['America/New_York', '2026-04-30T06:00:00Z'],
  ])("cron goes by this machine's clock where no zone is named: %s", async (local, expected) => {
    process.env.TZ = local;
    expect(await slotOf('0 2 * * *', '2026-05-01T00:00:00Z')).toBe(expected);
    expect(await slotOf('1h', '2026-05-01T00:10:00Z')).toBe('2026-05-01T00:00:00Z');
  });

  it('a local zone that is unknown is no UTC', async () => {
    process.env.TZ = 'Mars/Olympus';
    await expect(slotOf('0 2 * * *', '2026-05-01T00:00:00Z')).rejects.toThrow(/this machine's time zone \(TZ is "Mars\/Olympus"\) is unknown/);
  });
});

describe('schedules that are none', () => {
  it.each([
    ['', undefined, /no duration/],
    ['15', undefined, /no unit/],
    ['500ms', undefined, /too short/],
    ['1.5s', undefined, /whole seconds/],
    ['1d', BERLIN, /counted in UTC/],
    ['* * * *', undefined, /no cron expression/],
    ['61 * * * *', undefined, /minute/],
    ['0 0 0 1 1 * 2020', undefined, /5 or 6 parts/],
    ['@reboot', undefined, /no cron expression/],
    ['0 0 30 2 *', undefined, /never ticks/],
    ['0 2 * * *', 'Mars/Olympus', /time zone "Mars\/Olympus" is unknown/],
    ['0 2 * * *', '', /unknown/],
  ])('%j in %s is refused', async (schedule, zone, expected) => {
    const asked = slotAt(schedule, at('2026-05-01T00:00:00Z'), zone);
    await expect(asked).rejects.toThrow(UsageError);
    await expect(asked).rejects.toThrow(expected);
  });
});

describe('moments', () => {
  it.each([
    ['2026-10-25T02:30:00Z', '2026-10-25T02:30:00.000Z'],
    ['2026-10-25T02:30+02:00', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T02:30:00.250-0530', '2026-10-25T08:00:00.250Z'],
    ['2026-10-25 02:30:00,250z', '2026-10-25T02:30:00.250Z'],
    ['2026-10-25', '2026-10-25T00:00:00.000Z'],
    ['1761359400', '2025-10-25T02:30:00.000Z'],
    ['1761359400.5', '2025-10-25T02:30:00.500Z'],
    ['1761359400250', '2025-10-25T02:30:00.250Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(new Date(parseMoment(text)).toISOString()).toBe(expected);
  });

  it.each([
    ['2026-10-25T02:30', /which time zone/],
    ['2026-02-31T00:00Z', /no moment/],
    ['2026-02-31', /no moment/],
    ['2026-10-25T24:00Z', /no moment/],
    ['2026-10-25T02:30+99:99', /no moment/],
    ['1969-12-31', /no moment/],
    ['10/25/2026', /no moment/],
    ['yesterday', /no moment/],
    ['-5', /no moment/],
    ['9'.repeat(30), /no moment/],
    ['', /no moment/],
  ])('%j is refused', (text, expected) => {
    expect(() => parseMoment(text)).toThrow(UsageError);
    expect(() => parseMoment(text)).toThrow(expected);
  });
});
