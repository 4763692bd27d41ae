/**
 * What the scenarios print, as docs/scenarios.md shows it.
 *
 * @module
 */

/** A part's heading is indented by three, as its lines are, and has no mark. */
const isHeading = (line: string): boolean => /^ {3}[^\s✓✗]/.test(line);

/** A scenario's lines, of a page or of what was printed. */
export function linesOf(text: string, id: string): string[] {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => line.startsWith(`${id}  `));
  if (begin < 0) return [];
  const length = lines.slice(begin + 1).findIndex((line) => /^S\d+ {2}|^\d+ of \d+ scenarios/.test(line));
  const block = lines.slice(begin, length < 0 ? undefined : begin + 1 + length);
  return block.join('\n').trim().split('\n');
}

/**
 * As the page shows them: where a part expects what an earlier part of the same scenario expected, its lines are left out, and a line says so.
 *
 * @param output of `npm run scenario`
 */
export function excerptOf(output: string, id: string): string {
  const block = linesOf(output, id);
  const shown: string[] = [];
  const before: { readonly name: string; readonly expected: string }[] = [];
  for (let at = 0; at < block.length; at += 1) {
    const line = block[at] ?? '';
    shown.push(line);
    if (!isHeading(line)) continue;
    const end = block.findIndex((next, index) => index > at && next === '');
    const part = block.slice(at + 1, end < 0 ? undefined : end);
    const expectations = part.filter((one) => one.startsWith('   ✓'));
    const expected = withoutFigures(expectations.map((one) => one.split(' got ')[0]).join('\n'));
    const same = before.find((one) => one.expected === expected);
    const name = line.trim().split(':')[0] ?? '';
    if (same === undefined) before.push({ name, expected });
    // One that failed is shown as it is.
    if (same === undefined || expectations.length < part.length - 1) continue;
    shown.push(`   … ✓ ${expectations.length} lines, the same as for ${same.name}`, ...part.slice(-1));
    at += part.length;
  }
  return shown.join('\n');
}

/** Figures and ids are different each time. */
export function withoutFigures(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/\b[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g, '<id>')
    .replace(/\d+(?:\.\d+)?/g, '<n>')
    .replace(/ +/g, ' ');
}
