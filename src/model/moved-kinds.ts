/** The names of the counts that show what a run changed, in the order in which messages list them. */
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
