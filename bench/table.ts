/** The rows of the table: what is measured, and in which file. */
export interface Row {
  readonly row: number;
  readonly what: string;
  /** Of the version before the rows were there, where it was measured. */
  readonly before: string;
  readonly goal: string;
}

const table: readonly (readonly [what: string, before: string, goal: string])[] = [
  [
    'whole run, nothing changed, against fetching and parsing',
    '12× with settled statistics, 27–47× before',
    '≤ 1.0×; CPU ≤ 1.5×, ≤ 4.6× where everybody is compared',
  ],
  ['whole run, first and with 1 % changed at the service', '57×; 12–33×', 'CPU ≤ 12×; ≤ 5.2×'],
  ['peak memory of it, first and unchanged', '684; 467 MB', '≤ 520; ≤ 200 MB'],
  ['longest stretch without a turn of the event loop, CPU', '855–1,324 ms', '≤ 250 ms'],
  ['plan with 1 % edited on each side, against one staged comparison in SQL', '13.6×', '≤ 2.5×'],
  ['listing against COPY: new, unchanged, 1 % changed', '4.8; 2.7; 2.5×', '≤ 2.0; ≤ 1.1; ≤ 1.2×'],
  [
    'the same with ten times the rows, by CPU; memory',
    '7.0; 4.4; 3.7×; 2 GB',
    '≤ 2.2; ≤ 1.4; ≤ 1.4×; ≤ 150 MB',
  ],
  ['run after a first load that nobody has analysed', '127 s with 40,000 tags', '≤ 1.1×'],
  ['parse and decode of users against JSON.parse', '3.4×', '≤ 1.5×'],
  ['from an edit in SQL to its request: median, 99 of 100', '1,546; 4,135 ms', '≤ 150; ≤ 600 ms'],
  ['the same in a large team', '2,965 ms', '≤ 300 ms'],
  ['edits that follow each other', '3,169 ms', '≤ 700 ms'],
  ['one edit: statements, requests', '130; 4', '≤ 60; ≤ 3'],
  [
    'unchanged run: statements, transactions, lease updates, CPU of node and Postgres',
    '152; 17; 26; 42 + 65 ms',
    '≤ 60; ≤ 15; ≤ 3; ≤ 60 ms, ≤ 180 ms where something is held',
  ],
  ['edits drained: requests, against one for each 25', '2.0×', '≤ 2.1×'],
  ['use of the limit while draining', '49 %', '≥ 94 %; ≥ 45 % far away'],
  ['use of the limit, saturated', '96.7 %; 48 % with slow statements', '≥ 94 %'],
  ['most requests that arrive in any minute', '501', '≤ 500'],
  ['requests for pages where the service takes 1,000 rows a page', '57', '13'],
  ['first run with many tags, far away', '37 s', '≤ 10 s'],
  ['report views and status on a large history', '10,561; 1,885; 900–1,100 ms', '≤ 20; ≤ 100; ≤ 50 ms'],
  ['start-up of status and --help, CPU', '650; 90 ms', '≤ 250; ≤ 80 ms'],
  ['first round of many teams, CPU a team: node, Postgres', '170; 260 ms', '≤ 60; ≤ 60 ms'],
  ['small teams on three daemons: late ones, CPU a run', '–', '0; ≤ 8 + 8 ms'],
  ['examples of the report views, CPU of Postgres', '–', '≤ 200 ms'],
  ['from an edit in SQL to `confirmed` by `sync.settled()`', '–', '≤ 250 ms'],
  ['the same in a large team', '–', '≤ 500 ms'],
  ['views of the page on a large history', '–', '≤ 150 ms'],
];

/** Has a table of its own. */
export const viewsRow = 25;

export const rows: readonly Row[] = table.map(([what, before, goal], index) => ({
  row: index + 1,
  what,
  before,
  goal,
}));
