/**
 * The ratios that a goal was set for, each as a bar with its quartiles, and a mark where its goal is.
 *
 * @module
 */
import { isMet } from '../print.ts';
import type { Figure } from '../section.ts';

const WIDTH = 960;
const LABELS = 470;
const LINE = 30;
const TOP = 44;
const PLOT = WIDTH - LABELS - 90;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Each in shares of its own goal: ratios with goals of 0.15 and of 5 have no axis in common. */
export function picture(figures: readonly Figure[]): string {
  const shares = figures.map(({ value, high = value, goal = 1 }) => ({ share: value / goal, high: high / goal }));
  const most = Math.max(1.2, ...shares.map(({ share, high }) => Math.min(2.5, Math.max(share, high)))) * 1.02;
  const x = (share: number): number => Math.round(LABELS + (Math.min(share, most) / most) * PLOT);
  const height = TOP + figures.length * LINE + 16;
  const lines = figures.map((figure, n) => {
    const { name, value, low = value, high = value, goal = 1 } = figure;
    const y = TOP + n * LINE;
    const met = isMet(figure);
    return `<g class="${met ? 'met' : 'missed'}"><title>${escaped(`${name}: ${value.toFixed(3)}, goal ${goal}`)}</title>
<text x="${LABELS - 10}" y="${y + 17}" text-anchor="end">${escaped(name)}</text>
<rect x="${LABELS}" y="${y + 5}" width="${Math.max(1, x(value / goal) - LABELS)}" height="16" rx="2"/>
<path d="M${x(low / goal)} ${y + 13}H${x(high / goal)}"/>
<text x="${WIDTH - 80}" y="${y + 17}">${value.toFixed(2)} of ${goal}</text></g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">
<title id="title">Measured ratios, each beside its goal</title>
<style>
svg { background: #fff; font: 13px system-ui, sans-serif; }
text { fill: #1f2328; }
.met rect { fill: #2da44e; } .missed rect { fill: #cf6a1b; }
path { stroke: #1f2328; stroke-width: 2; opacity: .6; }
line { stroke: #1f2328; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) { svg { background: #0d1117; } text { fill: #e6edf3; } path, line { stroke: #e6edf3; } }
</style>
<text x="${x(1)}" y="22" text-anchor="middle">goal: at most</text>
<line x1="${x(1)}" y1="30" x2="${x(1)}" y2="${height - 10}"/>
${lines.join('\n')}
</svg>
`;
}
