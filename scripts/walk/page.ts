/**
 * A page that can be followed by hand, as what there is to do: `<!-- walk: … -->` before a block says what the block is for.
 *
 * @module
 */

export type Step =
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  /** Typed into a shell. `prints`: what the page shows for it. */
  | { readonly kind: 'run' | 'background'; readonly text: string; readonly prints?: string };

const BLOCK = /^<!-- walk: (file|run|background|prints)(?: (\S+))? -->\n\n```\w+\n([\s\S]*?)^```$/gm;

/** @throws for a mark that is followed by no block, and for output of nothing. */
export function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  const marks = [...page.matchAll(/<!-- walk:/g)].length;
  const blocks = [...page.matchAll(BLOCK)];
  if (blocks.length !== marks) throw new Error(`${marks - blocks.length} of ${marks} marks of the page are followed by no block`);
  for (const [, what, path, text = ''] of blocks) {
    if (what === 'file' && path !== undefined) steps.push({ kind: 'file', path, text });
    else if (what === 'run' || what === 'background') steps.push({ kind: what, text });
    else {
      const last = steps.pop();
      if (what !== 'prints' || last?.kind !== 'run') throw new Error(`what prints this?\n${text}`);
      steps.push({ ...last, prints: text });
    }
  }
  return steps;
}

/** What differs from one run, or machine, to the next. */
export const withoutFigures = (printed: string): string =>
  printed
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g, '<time>')
    .replaceAll(/\b\d+(?:\.\d+)?(?:ms|s)\b/g, '<duration>')
    .replaceAll(/\b[\w-]+@[\w.-]+/g, '<user>')
    .replaceAll(/\bpid \d+/g, '<pid>')
    .trim();
