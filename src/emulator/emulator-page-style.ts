/** The style of the emulator's page, in the colours of the mirror's. */
export const emulatorPageStyle = `
:root {
  color-scheme: light dark;
  --bg: light-dark(#f8f7f4, #131311);
  --card: light-dark(#ffffff, #1b1b18);
  --line: light-dark(#e5e3dc, #33322d);
  --ink: light-dark(#1c1b17, #f1f0ea);
  --ink-2: light-dark(#55534a, #b9b7ac);
  --act: light-dark(#b3261e, #ff8f82);
  --sans: "Inter Variable", system-ui, sans-serif;
}
body { max-width: 1248px; margin: 0 auto; padding: 16px; background: var(--bg); color: var(--ink); font: 14px / 20px var(--sans); }
h1 { font: 650 28px / 34px var(--sans); letter-spacing: -0.02em; }
h2 { margin: 32px 0 8px; font: 620 16px / 24px var(--sans); }
section { overflow-x: auto; }
table { width: 100%; border: 1px solid var(--line); border-collapse: collapse; background: var(--card); }
th, td { padding: 8px 12px; border-top: 1px solid var(--line); text-align: left; vertical-align: top; font-variant-numeric: tabular-nums; }
thead, label, .dim { color: var(--ink-2); font-size: 12.5px; font-weight: 400; }
code, pre { font: 12.5px / 18px ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
p { margin: 4px 0; max-width: 84ch; }
a { color: inherit; }
.act { color: var(--act); }
form, label { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
td form { flex-wrap: nowrap; }
input, select, button { min-height: 32px; border: 1px solid var(--ink-2); border-radius: 6px; background: var(--card); color: var(--ink); font: inherit; }
`;
