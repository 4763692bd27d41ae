/**
 * Names of prepared statements: the server plans each once for a connection, and not again with each call, which is half of what it does for one.
 *
 * A pooler that lends its connections for a transaction (PgBouncer before 1.21) knows nothing of them: the next statement meets a connection where it was
 * never prepared, or where somebody else has prepared it. Both are refused before anything is run, and from then on statements go without names.
 *
 * @module
 */
import { createHash } from 'node:crypto';

export interface StatementNames {
  /** undefined: without a name. */
  of(text: string): string | undefined;
  giveNoMore(): void;
}

export function statementNames(): StatementNames {
  const names = new Map<string, string>();
  let given = true;
  return {
    of(text) {
      if (!given) return undefined;
      // The same text, the same name: where another process has prepared it on that connection, it is this very statement.
      const name = names.get(text) ?? `rerunsafe_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
      names.set(text, name);
      return name;
    },
    giveNoMore() {
      given = false;
    },
  };
}
