/** The counts of a run that show what moved, in the order in which messages list them. */
import { listedResources } from './listed-resources.ts';

export const movedKinds: readonly string[] = [
  'adopted',
  'returned',
  'pulled',
  'pushed',
  'settled',
  'held',
  'gone',
  ...listedResources.flatMap(({ name }) => ['added', 'changed', 'gone'].map((what) => `${name}_${what}`)),
];
