/** The page without a daemon, read-only. It starts no runs and writes nothing. */
import { type ErrorCode, MusterdError } from '../../errors.ts';
import { createPageServer } from '../../http/server.ts';
import { createPage, type PageOptions } from './create-page.ts';
import { pageRoutes } from './page-routes.ts';

export interface ServePageOptions extends Pick<PageOptions, 'db' | 'configs' | 'version'> {
  readonly host: string;
  readonly port: number;
  readonly log: { warn(fields: object, text: string): void };
}

/** The error of a server that cannot listen at its address, in words. Any other error is returned unchanged. */
export function listenError(cause: unknown, at: string, code: ErrorCode, hint: string): unknown {
  const { code: reason = '' } = cause as NodeJS.ErrnoException;
  const isOfAddress = ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(reason);
  return isOfAddress ? new MusterdError(code, `Cannot listen on ${at} (${reason})`, { hint, cause }) : cause;
}

/** @throws MusterdError `usage` if the port is taken */
export async function servePage({ host, port, log, ...options }: ServePageOptions) {
  const page = pageRoutes(createPage({ ...options, decide: null }));
  const hint = 'Give another port with --port (0: any). A daemon shows the same page at its status.port.';
  return await createPageServer({ host, port, page, log }).catch((error: unknown) => {
    throw listenError(error, `${host} port ${port}`, 'usage', hint);
  });
}
