/** The page without a daemon, read-only. It starts no runs and writes nothing. */
import { createPageServer } from '../../http/server.ts';
import { createPage, type PageOptions } from './create-page.ts';
import { pageRoutes } from './page-routes.ts';

export interface ServePageOptions extends Pick<PageOptions, 'db' | 'configs' | 'version'> {
  readonly host: string;
  readonly port: number;
  readonly log: { warn(fields: object, text: string): void };
}

/** @throws MusterdError `usage` if the port is taken */
export async function servePage({ host, port, log, ...options }: ServePageOptions) {
  const page = createPage({ ...options, decide: null });
  return await createPageServer({ host, port, page: pageRoutes(page), log });
}
