/** All views of the page in the order of the tabs, each with its query and its rendering. */
import { readChanges } from '../read/page-changes.ts';
import { readCounts } from '../read/page-counts.ts';
import { readGlance } from '../read/page-glance.ts';
import { readPerson } from '../read/page-person.ts';
import { readOneRun } from '../read/page-runs.ts';
import { changes, changesCsv, changesFilter } from '../render/ledger-view.ts';
import { counts, countsCsv, countsRange } from '../render/counts.ts';
import { glance } from '../render/glance.ts';
import { listings } from '../list/listed-view.ts';
import { people } from '../list/people.ts';
import { onePerson } from '../render/person.ts';
import { oneRun } from '../render/run.ts';
import { runs } from '../list/runs-view.ts';
import { type View, view } from '../render/view.ts';
import { waitingViews } from '../list/waiting-view.ts';

export const pageViews: readonly View[] = [
  view({ path: '/', tab: 'At a glance', read: readGlance, render: glance }),
  ...waitingViews,
  runs,
  view({ path: '/runs/:id', tab: 'Runs', read: readOneRun, render: oneRun }),
  people,
  view({
    path: '/people/:team/:id',
    tab: 'People',
    read: (reader, { params }) => readPerson(reader, params['id'] ?? ''),
    render: onePerson,
  }),
  view({
    path: '/counts',
    tab: 'Counts',
    read: (reader, asked) => readCounts(reader, countsRange(asked)),
    render: counts,
    csv: countsCsv,
  }),
  ...listings,
  view({
    path: '/changes',
    tab: 'Changes',
    read: (reader, asked) => readChanges(reader, changesFilter(asked)),
    render: changes,
    csv: changesCsv,
  }),
];
