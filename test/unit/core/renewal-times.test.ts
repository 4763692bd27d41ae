import { describe, expect, it } from 'vitest';
import type { Lifetime } from '../../../src/core/lifetime.ts';
import { Renewal, type RenewOnce } from '../../../src/core/renewal.ts';
import { instant } from '../../../src/core/system.ts';
import { virtualClock } from '../../../src/testing/index.ts';

type Answer = 'renewed' | 'lost' | 'failed' | 'hangs';

/** What a renewal with these answers does to its lease. */
function renewing(answers: Answer[], leaseMs = 1_200) {
  const clock = virtualClock();
  const startMs = clock.nowMs();
  const now = () => clock.nowMs() - startMs;
  const [asked, renewed, lost]: [number[], number[], string[]] = [[], [], []];
  const signals: AbortSignal[] = [];
  let leftMs = 1;
  const lifetime = {
    remainingMs: () => leftMs,
    lose: (why: string) => void lost.push(why),
    renewed: ({ wallMs }: { wallMs: number }) => void renewed.push(wallMs - startMs),
  } as unknown as Lifetime;
  let answerHanging = (): void => {};
  const once: RenewOnce = async (signal) => {
    const sentAt = instant(clock.clock);
    const answer = answers[asked.length] ?? 'renewed';
    asked.push(now());
    signals.push(signal);
    if (answer === 'failed') throw new Error('away');
    if (answer === 'lost') return { kind: 'lost' };
    if (answer === 'hangs') {
      await new Promise<void>((resolve) => {
        answerHanging = resolve;
      });
    }
    return { kind: 'renewed', sentAt };
  };
  const renewal = new Renewal(clock, lifetime, leaseMs, once);
  const over = () => {
    leftMs = 0;
  };
  return { clock, renewal, asked, renewed, lost, signals, over, answer: () => answerHanging() };
}

describe('renewal', () => {
  it('I10 is asked for every third of the lease, and counts from when it was sent', async () => {
    const { clock, asked, renewed } = renewing([]);
    await clock.advance(1_300);
    expect([asked, renewed]).toEqual([
      [400, 800, 1_200],
      [400, 800, 1_200],
    ]);
  });

  it('I10 that failed is unknown: asked for again after a twelfth, and nothing is lost', async () => {
    const { clock, asked, renewed, lost } = renewing(['failed', 'failed', 'renewed']);
    await clock.advance(1_050);
    expect([asked, renewed, lost]).toEqual([[400, 500, 600, 1_000], [600, 1_000], []]);
  });

  it('I10 pauses at least a millisecond', async () => {
    const { clock, asked } = renewing(['failed', 'renewed'], 2);
    await clock.advance(1);
    expect(asked).toEqual([1]);
    await clock.advance(2);
    expect(asked).toEqual([1, 2, 3]);
  });

  it('I4 that met somebody else is lost, and not asked for again', async () => {
    const { clock, asked, renewed, lost } = renewing(['lost']);
    await clock.advance(5_000);
    expect([asked, renewed, lost]).toEqual([[400], [], ['somebody else took it over']]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I6 is not asked for any more once the lease, or the invocation, is over', async () => {
    const { clock, asked, over } = renewing([]);
    await clock.advance(500);
    over();
    await clock.advance(5_000);
    expect(asked).toEqual([400]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 that is stopped leaves no timer, and nothing to wait for', async () => {
    const { clock, renewal, asked } = renewing([]);
    expect(renewal.stop()).toBeUndefined();
    expect(clock.pendingTimers()).toBe(0);
    await clock.advance(5_000);
    expect(asked).toEqual([]);
  });

  it.each(['hangs', 'failed'] as const)(
    'I12 that is stopped while one is under way (%s) gives it up, waits for it, and asks for none after it',
    async (how) => {
      const { clock, renewal, asked, signals, answer } = renewing([how, 'renewed']);
      await clock.advance(how === 'hangs' ? 450 : 400);
      let settled = false;
      const stopped = renewal.stop()?.then(() => {
        settled = true;
      });
      expect(stopped).toBeInstanceOf(Promise);
      expect(signals[0]?.reason).toBe('the work has settled');
      await clock.settle();
      if (how === 'hangs') expect(settled).toBe(false);
      answer();
      await stopped;
      await clock.advance(5_000);
      expect([asked, clock.pendingTimers()]).toEqual([[400], 0]);
    },
  );
});
