/**
 * S10: a cron job on one host must not overlap.
 *
 * @module
 */
import { BACKENDS } from './place.ts';
import { plainLockFile } from './s10-flock.ts';
import { inADatabase, inFiles } from './s10-guarded.ts';
import { type Scenario, WITHOUT } from './scenario.ts';

export const s10: Scenario = {
  id: 'S10',
  title: 'A cron job on one host must not overlap',
  parts: [
    { on: WITHOUT, shows: 'flock, and the four traps of lock files', play: plainLockFile },
    { on: BACKENDS.file, shows: 'rerunsafe lock, by locks of the kernel, for all users of the host', play: inFiles },
    { on: BACKENDS.sqlite, shows: 'rerunsafe lock, by rows of one database for all users of the host', play: inADatabase },
  ],
};
