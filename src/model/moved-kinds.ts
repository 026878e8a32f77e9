/** The counts of a run that say what moved, in the order in which they are told. */
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
