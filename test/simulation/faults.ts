import type { RecordToWrite } from '../../src/core/record.ts';
import type { Dice } from './dice.ts';

/** What a request was for, as the one who sent it meant it. */
export const PURPOSES = ['claim', 'takeover', 'renewal', 'step', 'completion', 'release', 'block', 'look', 'word', 'fenced'] as const;
export type Purpose = (typeof PURPOSES)[number];

export const READ_FAULTS = ['unavailable', 'hang', 'slow-request', 'slow-answer'] as const;
export const WRITE_FAULTS = [
  ...READ_FAULTS,
  /** Applied; then in doubt. */
  'lost-answer',
  /** In doubt, and not applied. */
  'lost-request',
  /** Applied, and then sent again as an SDK would: the answer is a conflict with one's own record. */
  'sent-twice',
  /** Applied and answered; and a copy of it arrives later. */
  'duplicate',
  /** Applied, and never answered. */
  'hang-applied',
  /** In doubt at once, and applied later all the same. */
  'late-copy',
] as const;
export type Fault = (typeof WRITE_FAULTS)[number];

/** Each kind is on or off for a whole seed, and then fires by chance, until the faults stop. */
export class Weather {
  readonly untilMs: number;
  readonly longestMs: number;
  readonly #rates = new Map<Fault, number>();
  readonly #write: readonly Fault[];
  readonly #read: readonly Fault[];

  constructor(dice: Dice, untilMs: number, longestMs: number) {
    this.untilMs = untilMs;
    this.longestMs = longestMs;
    if (dice.chance(0.85)) {
      const often = dice.pick([0.03, 0.1, 0.25, 0.5]);
      for (const fault of WRITE_FAULTS) if (dice.chance(0.4)) this.#rates.set(fault, often * (0.25 + dice.next()));
    }
    this.#write = WRITE_FAULTS.filter((fault) => this.#rates.has(fault));
    this.#read = READ_FAULTS.filter((fault) => this.#rates.has(fault));
  }

  /** Always as many throws of the dice. */
  faultOf(dice: Dice, isWrite: boolean): Fault | undefined {
    const which = dice.next();
    const whether = dice.next();
    const kinds = isWrite ? this.#write : this.#read;
    const fault = kinds[Math.floor(which * kinds.length)];
    return fault !== undefined && whether < (this.#rates.get(fault) ?? 0) * kinds.length ** 0.5 ? fault : undefined;
  }
}

/** Of a write, by what it puts over what. */
export function purposeOf(record: RecordToWrite, over: RecordToWrite | undefined): Purpose {
  if (record.word !== undefined && record.word !== over?.word) return 'word';
  if (record.state === 'completed') return 'completion';
  if (record.state === 'blocked') return 'block';
  if (record.state === 'released' || record.leaseMs === 0) return 'release';
  if (over?.owner !== record.owner) return over?.state === 'running' ? 'takeover' : 'claim';
  return over.steps === record.steps ? 'renewal' : 'step';
}
