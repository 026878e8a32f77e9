/** The page without a daemon, read-only. It starts no runs and writes nothing. */
import { MusterdError } from '../../errors.ts';
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
  try {
    return await createPageServer({ host, port, page: pageRoutes(page), log });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(code)) throw error;
    throw new MusterdError('usage', `musterd cannot listen on ${host} port ${port} (${code})`, {
      hint: 'Give another port with --port (0: any free port). A daemon shows the same page at its status.port.',
      cause: error,
    });
  }
}
