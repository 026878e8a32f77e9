/** All views of the page in the order of the tabs, each with its query and its rendering. */
import { exportNameOf } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { readChanges } from '../read/page-changes.ts';
import { readCounts } from '../read/page-counts.ts';
import { readGlance } from '../read/page-glance.ts';
import { readPeople } from '../read/page-people.ts';
import { readPerson } from '../read/page-person.ts';
import { readOneRun, readRuns } from '../read/page-runs.ts';
import { readListedRows } from '../read/page-listed.ts';
import { readWaitingView } from '../read/page-waiting-view.ts';
import { changesFilter } from '../render/changes-filter.ts';
import { counts, countsRange } from '../render/counts.ts';
import { glance } from '../render/glance.ts';
import { countsCsv } from '../render/growth.ts';
import { changes, changesCsv } from '../render/ledger-view.ts';
import { people, peopleFilter, peopleCsv } from '../render/people.ts';
import { onePerson } from '../render/person.ts';
import { oneRun, runsCsv, runsPage } from '../render/runs-list.ts';
import { listedFilter, listedCsv, listedRows } from '../render/listed-rows.ts';
import { type View, view } from '../render/view.ts';
import { waiting, waitingCsv } from '../render/waiting-list.ts';

export const pageViews: readonly View[] = [
  view({ path: '/', tab: 'At a glance', read: readGlance, render: glance }),
  view({ path: '/waiting', tab: 'Waiting', read: readWaitingView, render: waiting, csv: waitingCsv }),
  view({
    path: '/waiting/:batch',
    tab: 'Waiting',
    read: readWaitingView,
    render: waiting,
    csv: waitingCsv,
  }),
  view({ path: '/runs', tab: 'Runs', read: readRuns, render: runsPage, csv: runsCsv }),
  view({ path: '/runs/:id', tab: 'Runs', read: readOneRun, render: oneRun }),
  view({
    path: '/people',
    tab: 'People',
    read: (reader, asked) => readPeople(reader, peopleFilter(asked)),
    render: people,
    csv: peopleCsv,
  }),
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
  ...listedResources.map((resource) =>
    view({
      path: `/${exportNameOf(resource)}`,
      tab: 'Counts',
      read: (reader, asked) => readListedRows(reader, resource, listedFilter(asked)),
      render: (read, context) => listedRows(resource, read, context),
      csv: (read, context) => listedCsv(resource, read, context),
    }),
  ),
  view({
    path: '/changes',
    tab: 'Changes',
    read: (reader, asked) => readChanges(reader, changesFilter(asked, reader.now)),
    render: changes,
    csv: changesCsv,
  }),
];
