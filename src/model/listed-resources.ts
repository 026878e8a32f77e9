/**
 * All listed resources. Each resource is a file in the folder `listed`, and no other file names it. In the bundle, the
 * files are imported by their names (`scripts/bundle.ts`).
 */
import { readdirSync } from 'node:fs';
import type { ListedResource } from './listed-resource.ts';

const folder = new URL('listed/', import.meta.url);

async function load(file: string): Promise<ListedResource> {
  const module = (await import(new URL(file, folder).href)) as { readonly default: ListedResource };
  return module.default;
}

/** All listed resources in the order of their names. */
export const listedResources: readonly ListedResource[] = await Promise.all(
  readdirSync(folder).toSorted().map(load),
);
