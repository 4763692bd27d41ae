/**
 * HTTP operations for which nobody chose what becomes of streamed replies.
 *
 * @module
 */
const undecided = new Map<string, 'silent' | 'told'>();

/** At start-up. Which of them will ever stream, nobody can know yet. */
export const noteUndecided = (operation: string): void => void undecided.set(operation, undecided.get(operation) ?? 'silent');

export const undecidedOperations = (): readonly string[] => [...undecided.keys()];

/** Once for each operation, at its first stream, for apps that do not look at start-up. */
export function tellOfStream(operation: string): void {
  if (undecided.get(operation) !== 'silent') return;
  undecided.set(operation, 'told');
  process.emitWarning(streamDefault([operation]), { code: 'RERUNSAFE_STREAM_NOT_RECORDED' });
}

export const streamDefault = (operations: readonly string[]): string =>
  `${operations.join(', ')}: a streamed reply goes out unrecorded; later requests with its key are answered 409. Set streams to 'pass' if that is meant, or to { recordUpTo: bytes }.`;
