/** The rows of the table: what is measured, and in which file. */
export interface Row {
  readonly row: number;
  readonly what: string;
  readonly goal: string;
}

/** A row keeps its number when another one goes. */
const table: readonly (readonly [row: number, what: string, goal: string])[] = [
  [
    1,
    'whole run, nothing changed, against fetching and parsing',
    '≤ 1.0×; CPU ≤ 1.5×, ≤ 4.6× where everybody is compared',
  ],
  [2, 'whole run, first and with 1 % changed at the service', 'CPU ≤ 12×; ≤ 5.2×'],
  [3, 'peak memory of it, first and unchanged', '≤ 520; ≤ 200 MB'],
  [4, 'longest stretch without a turn of the event loop, CPU', '≤ 250 ms'],
  [6, 'listing against COPY: new, unchanged, 1 % changed', '≤ 2.0; ≤ 1.1; ≤ 1.2×'],
  [7, 'the same with ten times the rows, by CPU; memory', '≤ 2.2; ≤ 1.4; ≤ 1.4×; ≤ 150 MB'],
  [8, 'run after a first load that nobody has analysed', '≤ 1.1×'],
  [10, 'from an edit in SQL to its request: median, 99 of 100', '≤ 150; ≤ 600 ms'],
  [11, 'the same in a large team', '≤ 300 ms'],
  [12, 'edits that follow each other', '≤ 700 ms'],
  [13, 'one edit: statements, requests', '≤ 60; ≤ 3'],
  [
    14,
    'unchanged run: statements, transactions, lease updates, CPU of node and Postgres',
    '≤ 60; ≤ 15; ≤ 3; ≤ 60 ms, ≤ 180 ms where something is held',
  ],
  [15, 'edits drained: requests, against one for each 25', '≤ 2.1×'],
  [16, 'use of the limit while draining', '≥ 94 %; ≥ 45 % far away'],
  [17, 'use of the limit, saturated', '≥ 94 %'],
  [18, 'most requests that arrive in any minute', '≤ 500'],
  [19, 'requests for pages where the service takes 1,000 rows a page', '13'],
  [20, 'first run with many tags, far away', '≤ 10 s'],
  [21, 'report views and status on a large history', '≤ 20; ≤ 100; ≤ 50 ms'],
  [22, 'start-up of status and --help, CPU', '≤ 250; ≤ 80 ms'],
  [23, 'first round of many teams, CPU a team: node, Postgres', '≤ 60; ≤ 60 ms'],
  [24, 'small teams on three daemons: late ones, CPU a run', '0; ≤ 8 + 8 ms'],
  [25, 'examples of the report views, CPU of Postgres', '≤ 200 ms'],
  [26, 'from an edit in SQL to `confirmed` by `sync.settled()`', '≤ 250 ms'],
  [27, 'the same in a large team', '≤ 500 ms'],
  [28, 'views of the page on a large history', '≤ 150 ms'],
];

/** Has a table of its own. */
export const viewsRow = 25;

export const rows: readonly Row[] = table.map(([row, what, goal]) => ({ row, what, goal }));
