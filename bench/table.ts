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
    'a whole run that finds no change, compared with fetching and parsing the answers',
    '≤ 1.0×; CPU ≤ 1.5×, ≤ 4.6× where everybody is compared',
  ],
  [
    2,
    'a whole run: the first run, and a run after 1 % of the users changed on the service',
    'CPU ≤ 12×; ≤ 5.2×',
  ],
  [3, 'peak memory of a whole run: the first run, and a run that finds no change', '≤ 520; ≤ 200 MB'],
  [4, 'longest time that a run blocks the event loop, in CPU time', '≤ 250 ms'],
  [
    6,
    'writing a listing into the mirror, compared with COPY: all rows new, all unchanged, 1 % changed',
    '≤ 2.0; ≤ 1.1; ≤ 1.2×',
  ],
  [
    7,
    'writing a listing with ten times as many rows: CPU time compared with COPY, and memory',
    '≤ 2.2; ≤ 1.4; ≤ 1.4×; ≤ 150 MB',
  ],
  [8, 'writing a listing after a first load, before Postgres has analysed the tables', '≤ 1.1×'],
  [
    10,
    'time from an edit in SQL to the request that pushes the edit: median, 99th percentile',
    '≤ 150; ≤ 600 ms',
  ],
  [11, 'time from an edit in SQL to its request, in a large team', '≤ 300 ms'],
  [12, 'time from an edit in SQL to its request, if further edits follow', '≤ 700 ms'],
  [13, 'statements and requests that musterd sends for one edit', '≤ 60; ≤ 3'],
  [
    14,
    'a run that finds no change: statements, transactions, lease updates, CPU time of Node and Postgres',
    '≤ 60; ≤ 15; ≤ 3; ≤ 60 ms, ≤ 180 ms where something is held',
  ],
  [15, 'requests that push many edits, compared with one request for each 25 edits', '≤ 2.1×'],
  [16, 'share of the rate limit that musterd uses while it pushes many edits', '≥ 94 %; ≥ 45 % far away'],
  [17, 'share of the rate limit that musterd uses while requests always wait', '≥ 94 %'],
  [18, 'largest number of requests that reach the service within a minute', '≤ 500'],
  [19, 'requests for pages, if the service returns at most 1,000 rows per page', '13'],
  [20, 'first run with many tags, if each answer of the service is delayed', '≤ 10 s'],
  [21, 'report views and `musterd status` on a mirror with a long history', '≤ 20; ≤ 100; ≤ 50 ms'],
  [22, 'CPU time of `musterd status` and `musterd --help`, with start-up', '≤ 250; ≤ 80 ms'],
  [23, 'first runs of many teams: CPU time of Node and Postgres per team', '≤ 60; ≤ 60 ms'],
  [24, 'many small teams on three daemons: teams whose run was late, CPU time per run', '0; ≤ 8 + 8 ms'],
  [25, 'examples of the report views, CPU of Postgres', '≤ 200 ms'],
  [26, 'time from an edit in SQL until `sync.settled()` returns `confirmed`', '≤ 250 ms'],
  [27, 'time from an edit in SQL until `sync.settled()` returns `confirmed`, in a large team', '≤ 500 ms'],
  [28, 'views of the page on a mirror with a long history', '≤ 150 ms'],
];

/** Has a table of its own. */
export const viewsRow = 25;

export const rows: readonly Row[] = table.map(([row, what, goal]) => ({ row, what, goal }));
