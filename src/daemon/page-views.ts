/** All views of the page, each with what it reads and how it is shown: in the order of the tabs. */
import { readGlance } from '../mirror/page-glance.ts';
import { readOneRun, readRuns } from '../mirror/page-runs.ts';
import { readWaitingBatch, readWaitingView } from '../mirror/page-waiting-view.ts';
import { glance } from '../page/glance.ts';
import { oneRun, runsCsv, runsPage } from '../page/runs-list.ts';
import { waiting, waitingBatch, waitingCsv } from '../page/waiting-list.ts';
import { type View, view } from '../page/view.ts';

export const pageViews: readonly View[] = [
  view({ path: '/', tab: 'At a glance', read: readGlance, render: glance }),
  view({ path: '/waiting', tab: 'Waiting', read: readWaitingView, render: waiting, csv: waitingCsv }),
  view({
    path: '/waiting/:batch',
    tab: 'Waiting',
    read: readWaitingBatch,
    render: waitingBatch,
    csv: waitingCsv,
  }),
  view({ path: '/runs', tab: 'Runs', read: readRuns, render: runsPage, csv: runsCsv }),
  view({ path: '/runs/:id', tab: 'Runs', read: readOneRun, render: oneRun }),
];
