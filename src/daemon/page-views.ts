/** All views of the page in the order of the tabs, each with its query and its rendering. */
import { readChanges } from '../mirror/page/page-changes.ts';
import { readCounts } from '../mirror/page/page-counts.ts';
import { readGlance } from '../mirror/page/page-glance.ts';
import { readPeople } from '../mirror/page/page-people.ts';
import { readPerson } from '../mirror/page/page-person.ts';
import { readOneRun, readRuns } from '../mirror/page/page-runs.ts';
import { readTags } from '../mirror/page/page-tags.ts';
import { readWaitingView } from '../mirror/page/page-waiting-view.ts';
import { changesAsked } from '../page/changes-asked.ts';
import { counts, countsAsked } from '../page/counts.ts';
import { glance } from '../page/glance.ts';
import { countsCsv } from '../page/growth.ts';
import { changes, changesCsv } from '../page/ledger-view.ts';
import { people, peopleAsked, peopleCsv } from '../page/people.ts';
import { onePerson } from '../page/person.ts';
import { oneRun, runsCsv, runsPage } from '../page/runs-list.ts';
import { tags, tagsAsked, tagsCsv } from '../page/tags.ts';
import { type View, view } from '../page/view.ts';
import { waiting, waitingCsv } from '../page/waiting-list.ts';

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
    read: (reader, asked) => readPeople(reader, peopleAsked(asked)),
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
    read: (reader, asked) => readCounts(reader, countsAsked(asked)),
    render: counts,
    csv: countsCsv,
  }),
  view({
    path: '/tags',
    tab: 'Counts',
    read: (reader, asked) => readTags(reader, tagsAsked(asked)),
    render: tags,
    csv: tagsCsv,
  }),
  view({
    path: '/changes',
    tab: 'Changes',
    read: (reader, asked) => readChanges(reader, changesAsked(asked, reader.now)),
    render: changes,
    csv: changesCsv,
  }),
];
