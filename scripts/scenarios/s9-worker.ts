/**
 * S9: a migration, by somebody who took for granted that it is started once: amounts in euros become amounts in cents.
 *
 * @module
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';

const [, , table = ''] = process.argv;
const { STOPS = '', BEFORE_COMMIT, AFTER_COMMIT, FAILS, DATABASE_URL = '' } = process.env;

/** Tells who is waiting for it, and waits to be killed, or let go. */
async function stop(): Promise<void> {
  // Whole when it is there.
  writeFileSync(`${STOPS}-`, String(process.pid));
  renameSync(`${STOPS}-`, STOPS);
  while (!existsSync(`${STOPS}-on`)) await pause(20);
}

const client = new Client({ connectionString: DATABASE_URL });
await client.connect();
await client.query('BEGIN');
await client.query(`UPDATE ${table} SET amount = amount * 100`);
if (BEFORE_COMMIT !== undefined) await stop();
if (FAILS !== undefined) process.exit(3);
await client.query('COMMIT');
if (AFTER_COMMIT !== undefined) await stop();
await client.end();
