/**
 * How the pages look: quiet, in the system's own fonts and colours, light or dark as the reader has it.
 *
 * @module
 */

export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --card: #fff; --ink: #1c2024; --dim: #5b636b; --line: #dfe2e5; --link: #0b57a4;
  --good: #14683a; --good-ground: #e2f4e8; --busy: #0b4f8a; --busy-ground: #e3effb; --doubt: #7a4a00; --doubt-ground: #fdf0d3;
  --bad: #a11b22; --bad-ground: #fde7e7; --quiet: #4d555d; --quiet-ground: #eceef0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a; --card: #1b1f23; --ink: #e6e8ea; --dim: #a2abb4; --line: #333a41; --link: #83bdf5;
    --good: #86dba6; --good-ground: #143322; --busy: #92c7fa; --busy-ground: #12324f; --doubt: #f2c873; --doubt-ground: #3d2f10;
    --bad: #ffa8a8; --bad-ground: #47191c; --quiet: #bac2c9; --quiet-ground: #2b3137;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1rem; border-bottom: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem; }
.brand { font-weight: 650; letter-spacing: -.01em; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
header nav a { padding: .25rem 0; color: var(--ink); text-decoration: none; border-bottom: 2px solid transparent; }
header nav a:hover { border-color: var(--line); }
header nav a[aria-current] { border-color: var(--link); font-weight: 600; }
.mode { margin-left: auto; padding: .05rem .6rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .85rem; color: var(--dim); }
.mode.writes { color: var(--doubt); background: var(--doubt-ground); border-color: transparent; }
.store { margin: .35rem 0 .75rem; font-size: .85rem; color: var(--dim); font-family: ui-monospace, monospace; }
main { padding-top: .5rem; padding-bottom: 2rem; }
main:focus { outline: none; }
footer { border-top: 1px solid var(--line); color: var(--dim); font-size: .85rem; padding-bottom: 2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; letter-spacing: -.015em; margin: 1.5rem 0 .75rem; font-weight: 650; }
h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; font-weight: 650; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .4rem 0; max-width: 48rem; }
a { color: var(--link); text-underline-offset: .15em; }
.dim { color: var(--dim); font-size: .9rem; }
.count { color: var(--dim); font-weight: 400; margin-left: .25rem; }
.lead { font-size: 1.05rem; margin: .75rem 0 1rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -100vw; background: var(--card); padding: .5rem 1rem; }
.skip:focus { left: .5rem; top: .5rem; z-index: 1; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: .3rem; font-size: .85rem; font-weight: 600; white-space: nowrap; }
.badge::before { content: ''; display: inline-block; width: .5em; height: .5em; border-radius: 50%; background: currentColor; margin-right: .45em; }
.good { color: var(--good); background: var(--good-ground); } .busy { color: var(--busy); background: var(--busy-ground); }
.doubt { color: var(--doubt); background: var(--doubt-ground); } .bad { color: var(--bad); background: var(--bad-ground); }
.quiet { color: var(--quiet); background: var(--quiet-ground); }
.notice { padding: .7rem 1rem; border-radius: .4rem; border-left: 4px solid currentColor; }
table { width: 100%; border-collapse: collapse; margin: .75rem 0; font-variant-numeric: tabular-nums; }
th { text-align: left; font-size: .8rem; font-weight: 600; color: var(--dim); padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); }
td { padding: .55rem 1rem .55rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { width: 8.5rem; } td:nth-child(3) { width: 27%; } td:nth-child(4) { width: 25%; }
td:nth-child(2) a { font-weight: 550; } td:nth-child(2) .dim, td:nth-child(3) .dim { display: block; }
form { margin: .75rem 0; }
label { display: block; font-size: .9rem; color: var(--dim); }
input, select, textarea, button { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--dim); border-radius: .35rem; padding: .4rem .6rem; max-width: 100%; }
input:not([type]), select, button { min-height: 2.4rem; }
label > input:not([type]), label > select, label > textarea { display: block; width: 100%; margin-top: .2rem; }
button { background: var(--ink); color: var(--ground); border-color: var(--ink); font-weight: 600; padding: .4rem 1.1rem; cursor: pointer; }
button.heavy { background: none; color: var(--bad); border-color: currentColor; }
.filter { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; }
.filter label { flex: 1 1 10rem; }
.word { max-width: 36rem; display: grid; gap: .8rem; justify-items: start; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.25rem 1.25rem; }
.word > * { width: 100%; margin: 0; } .word > button { width: auto; }
fieldset { border: 0; padding: 0; margin: 0; } legend { padding: 0; font-weight: 600; margin-bottom: .3rem; }
.choice { display: flex; gap: .5rem; align-items: baseline; padding: .2rem 0; font-size: 1rem; color: var(--ink); }
summary { cursor: pointer; padding: .4rem 0; color: var(--link); width: fit-content; }
.timeline { list-style: none; margin: .75rem 0; padding: 0 0 0 1.25rem; border-left: 2px solid var(--line); }
.timeline li { position: relative; padding: 0 0 .9rem; }
.timeline li::before { content: ''; position: absolute; left: calc(-1.25rem - 6px); top: .45rem; width: 10px; height: 10px; border-radius: 50%; background: var(--dim); }
.timeline li.ahead::before { background: var(--ground); border: 2px solid var(--dim); }
.timeline time { color: var(--dim); font-size: .85rem; font-variant-numeric: tabular-nums; }
.steps { margin: .25rem 0; padding-left: 1.25rem; }
dl { margin: .75rem 0; border-top: 1px solid var(--line); }
dl > div { display: grid; grid-template-columns: 10rem 1fr; gap: .25rem 1rem; padding: .4rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--dim); font-size: .9rem; } dd { margin: 0; }
pre { margin: 0; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .4rem; overflow-x: auto; white-space: pre-wrap; font: .85rem/1.5 ui-monospace, monospace; }
code { font: .9em ui-monospace, monospace; }
.pages { align-items: baseline; margin-top: 1rem; }
@media (max-width: 44rem) {
  .mode { margin-left: 0; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, td { display: block; } td:nth-child(n) { width: auto; border: 0; padding: .1rem 0; }
  tr { padding: .7rem 0; border-bottom: 1px solid var(--line); }
  td:nth-child(4)::before { content: 'Held by: '; color: var(--dim); font-size: .9rem; }
  dl > div { grid-template-columns: 1fr; }
}
@media (forced-colors: active) { .badge, .notice { border: 1px solid; } }
@media print { nav, form, .skip, footer { display: none; } }
`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57a4"/>
<path d="M23 11a8.5 8.5 0 1 0 1.5 5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/><path d="M24.5 5.5v6.5h-6.5z" fill="#fff"/>
<circle cx="16" cy="16" r="2.5" fill="#fff"/></svg>
`;
