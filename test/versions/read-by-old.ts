/**
 * What an earlier engine makes of each golden row of today.
 *
 * @module
 */
import type { RecordStore } from '../../src/core/ports.ts';
import type { Run } from '../../src/index.ts';
import { EXPECTED } from '../golden/expected.ts';
import { seal } from '../golden/scenarios.ts';
import { difference } from '../support/same.ts';
import type { Engine } from './engines.ts';

/** Of `running-with-steps`, each asked for by itself. */
export const STEPS = ['charge', 'large', 'lost', 'ship'] as const;

/** In a few words. `ran`: the work was run, as which attempt. */
export async function readByOld(engine: Engine, store: RecordStore, name: string, step?: (typeof STEPS)[number]): Promise<string> {
  const ran: string[] = [];
  const work = async (run: Run): Promise<unknown> => {
    if (step === undefined) {
      ran.push(`runs as attempt ${run.attempt}`);
      return 'run again';
    }
    return run.step(
      step,
      () => ran.push('runs the step'),
      step === 'charge' ? { input: { total: 12.5 } } : step === 'ship' ? { input: 'parcel' } : {},
    );
  };
  const more = { ...(name.includes('sealed') ? { seal } : {}), ...(name.includes('scoped') ? { scope: 'tenant-1' } : {}) };
  const options = { store, operation: `golden/${name}`, key: 'order-1', leaseMs: 60_000, retentionMs: 3_155_760_000_000, ...more };
  const answer = await engine.tryRunOnce<unknown>(options, work).catch((error: unknown) => error as Error & { code?: string });
  if (ran.length > 0) return ran.join(', ');
  if (answer instanceof Error) return answer.code ?? `${answer.name}: ${answer.message}`;
  if (answer.kind === 'blocked') return `blocked: ${answer.why}`;
  if (answer.kind === 'failed') return 'fails as it did';
  if (answer.kind !== 'completed') return answer.kind;
  if (step !== undefined) return 'has the value of the step';
  const gets = EXPECTED[name]?.gets;
  const isSame = gets !== undefined && 'replays' in gets && difference(answer.value, gets.replays()) === undefined;
  return isSame ? 'replays' : `another value: ${JSON.stringify(answer.value)}`;
}
