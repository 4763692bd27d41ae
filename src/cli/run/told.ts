/**
 * Runs a guarded command, and says what became of it.
 *
 * @module
 */
import { isatty } from 'node:tty';
import { writeStderr } from '../stderr.ts';
import { type Voice, voiceOf } from '../voice.ts';
import { guarded } from './guarded.ts';
import type { Report } from './report.ts';
import type { RunSpec } from './spec.ts';

export interface TellFlags {
  readonly json?: true;
  readonly quiet?: true;
  readonly report?: string;
}

export async function runAndTell(spec: RunSpec, flags: TellFlags): Promise<number> {
  const voice = voiceOf({ json: flags.json === true, quiet: flags.quiet === true, isTerminal: isatty(2), write: writeStderr });
  const report = await guarded(spec, voice);
  voice.tell(report);
  if (flags.report !== undefined) await write(flags.report, report, voice);
  return report.exitCode;
}

/** Beside it first: whoever reads it finds all of it or nothing. That it cannot be written changes nothing about what has happened. */
async function write(file: string, report: Report, { say }: Voice): Promise<void> {
  const { rename, writeFile } = await import('node:fs/promises');
  const staged = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(staged, `${JSON.stringify(report)}\n`);
    await rename(staged, file);
  } catch (error) {
    say(`the report could not be written: ${(error as Error).message}`);
  }
}
