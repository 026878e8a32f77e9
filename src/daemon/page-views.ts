/** All views of the page, each with what it reads and how it is shown: in the order of the tabs. */
import { readGlance } from '../mirror/page-glance.ts';
import { glance } from '../page/glance.ts';
import { type View, view } from '../page/view.ts';

export const pageViews: readonly View[] = [
  view({ path: '/', tab: 'At a glance', read: readGlance, render: glance }),
];
