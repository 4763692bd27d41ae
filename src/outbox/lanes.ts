/**
 * Messages of one key go one after the other, the others side by side.
 *
 * @module
 */
import type { WaitingMessage } from './port.ts';

/** In the order of each lane's first message. */
export function lanesOf(messages: readonly WaitingMessage[]): WaitingMessage[][] {
  const byKey = new Map<string, WaitingMessage[]>();
  const lanes: WaitingMessage[][] = [];
  for (const message of messages) {
    const lane = message.key === undefined ? undefined : byKey.get(message.key);
    if (lane !== undefined) {
      lane.push(message);
      continue;
    }
    const started = [message];
    lanes.push(started);
    if (message.key !== undefined) byKey.set(message.key, started);
  }
  return lanes;
}

/** Works through the lanes, at most `concurrency` at once. `walk` must not throw. */
export async function inLanes(
  lanes: readonly WaitingMessage[][],
  concurrency: number,
  walk: (lane: WaitingMessage[]) => Promise<void>,
): Promise<void> {
  const left = lanes.values();
  const worker = async (): Promise<void> => {
    for (const lane of left) await walk(lane);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, lanes.length) }, worker));
}
