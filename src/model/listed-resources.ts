/**
 * All resources that are listed: each is a file of the folder `listed`, and nothing else names it. In the bundle they are
 * imported by their names (`scripts/bundle.ts`).
 */
import { readdirSync } from 'node:fs';
import type { ListedResource } from './listed-resource.ts';

const folder = new URL('listed/', import.meta.url);

async function load(file: string): Promise<ListedResource> {
  const module = (await import(new URL(file, folder).href)) as { readonly default: ListedResource };
  return module.default;
}

/** In the order of their names. */
export const listedResources: readonly ListedResource[] = await Promise.all(
  readdirSync(folder).toSorted().map(load),
);
