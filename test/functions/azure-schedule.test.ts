import { describe, expect, it } from 'vitest';
import { occurrenceAt } from '../../src/adapters/azure-functions/schedule.ts';

const at = (iso: string): number => Date.parse(iso);
const iso = async (schedule: unknown, now: string, settings = {}): Promise<string | undefined> => {
  const ms = await occurrenceAt(schedule, at(now), settings);
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

describe('the occurrence that a run stands for, by its schedule', () => {
  it.each([
    ['on time', '0 0 2 * * *', '2026-03-01T02:00:00.000Z', '2026-03-01T02:00:00.000Z'],
    ['a little late', '0 0 2 * * *', '2026-03-01T02:00:07.300Z', '2026-03-01T02:00:00.000Z'],
    ['hours late, past due', '0 0 2 * * *', '2026-03-01T09:12:00.000Z', '2026-03-01T02:00:00.000Z'],
    ['a little early', '0 0 2 * * *', '2026-03-01T01:59:59.400Z', '2026-03-01T02:00:00.000Z'],
    ['well before', '0 0 2 * * *', '2026-03-01T01:59:50.000Z', '2026-02-28T02:00:00.000Z'],
    ['every second second, late', '*/2 * * * * *', '2026-03-01T00:00:01.400Z', '2026-03-01T00:00:00.000Z'],
    ['every second second, early', '*/2 * * * * *', '2026-03-01T00:00:01.600Z', '2026-03-01T00:00:02.000Z'],
    ['five fields', '*/15 * * * *', '2026-03-01T00:31:00.000Z', '2026-03-01T00:30:00.000Z'],
    ['day of month and day of week must both fit', '0 0 0 13 * 5', '2026-03-20T00:00:00.000Z', '2026-03-13T00:00:00.000Z'],
    ['names', '0 30 9 * * MON-FRI', '2026-03-08T12:00:00.000Z', '2026-03-06T09:30:00.000Z'],
  ])('%s', async (_, schedule, now, expected) => {
    expect(await iso(schedule, now)).toBe(expected);
  });

  it('in the time zone of the app, across its daylight saving', async () => {
    const settings = { WEBSITE_TIME_ZONE: 'Europe/Berlin' };
    expect(await iso('0 0 2 * * *', '2026-01-10T01:00:01Z', settings)).toBe('2026-01-10T01:00:00.000Z');
    expect(await iso('0 0 4 * * *', '2026-07-10T02:00:01Z', settings)).toBe('2026-07-10T02:00:00.000Z');
  });

  it('from an app setting', async () => {
    expect(await iso('%NIGHTLY%', '2026-03-01T02:00:01Z', { NIGHTLY: '0 0 2 * * *' })).toBe('2026-03-01T02:00:00.000Z');
  });

  it.each([['00:15:00'], ['%MISSING%'], [''], [undefined], ['61 * * * * *'], ['a b c d e f']])(
    'none for what names no moments: %j',
    async (schedule) => {
      expect(await iso(schedule, '2026-03-01T02:00:00Z')).toBeUndefined();
    },
  );

  it('none in a time zone that this machine does not know', async () => {
    expect(await iso('0 0 2 * * *', '2026-03-01T02:00:00Z', { WEBSITE_TIME_ZONE: 'W. Nowhere Time' })).toBeUndefined();
  });
});
