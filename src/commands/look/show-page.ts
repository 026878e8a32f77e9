import { once } from 'node:events';
import { servePage } from '../../page/serve/serve-page.ts';
import { MusterdError } from '../../errors.ts';
import { pageName } from '../../page/read/page-reader.ts';
import { requireSeenSchema } from '../../runs/open.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printLine } from '../output.ts';
import { type SetupOfTeams, withMirrorOf } from '../setup.ts';

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 65_536;
  if (port > 65_535) throw new MusterdError('usage', `"${text}" is not a port`);
  return port;
}

/** Serves the page until the process is asked to stop. It only reads from the mirror, and does not call the service. */
export async function pageCommand(
  context: Context,
  { port = '9465' }: { readonly port?: string },
): Promise<ExitCode> {
  const { signal, version } = context;
  const wanted = portOf(port);
  const serve = async ({ configuration: { teams }, mirror: { db }, log }: SetupOfTeams) => {
    await requireSeenSchema(db);
    const [{ status }] = teams;
    const { host } = status;
    const server = await servePage({ db, configs: () => teams, version, host, port: wanted, log });
    try {
      const name = host.includes(':') ? `[${host}]` : host;
      printLine(context.out, `http://${name}:${server.port}/`);
      context.sign?.close();
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await server.close();
    }
    return exitCode.ok;
  };
  return await withMirrorOf(context, serve, { applicationName: pageName });
}
