/**
 * The usual slip of work in a transaction, told at once. What hides in a longer text is found out before the commit.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';

const BLANK = /^(?:\s|--[^\n]*(?:\n|$)|;)+/;
const ENDS = /^(?:commit|end|abort|begin|start\s+transaction|prepare\s+transaction|rollback(?!(?:\s+(?:work|transaction))?\s+to\b))\b/i;

/** @throws RerunSafeError `INVALID_OPTIONS` for a statement that begins or ends a transaction. */
export function refuseEnding(text: unknown): void {
  if (typeof text !== 'string' || !ENDS.test(withoutComments(text))) return;
  throw invalidOptions('tx.query', ['the work must not begin or end transactions: it is committed when it returns, and rolled back when it throws']);
}

/** From its first word on. */
function withoutComments(text: string): string {
  for (let rest = text; ; ) {
    const bare = rest.replace(BLANK, '');
    if (!bare.startsWith('/*')) return bare;
    rest = bare.slice(endOfComment(bare));
  }
}

/** Comments lie in each other in SQL. */
function endOfComment(text: string): number {
  let depth = 0;
  for (const { 0: sign, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += sign === '/*' ? 1 : -1;
    if (depth === 0) return index + 2;
  }
  return text.length;
}
