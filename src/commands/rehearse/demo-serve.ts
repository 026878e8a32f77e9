/** `musterd demo --serve`: keeps the demo running, and prints how to use it from another terminal and what to try. */
import { fileURLToPath } from 'node:url';
import { serve, type RunWatch } from '../../daemon/serve.ts';
import { servePage } from '../../page/serve/serve-page.ts';
import { MusterdError } from '../../errors.ts';
import { printableLines, quoted } from '../../model/in-words.ts';
import type { RunReport } from '../../runs/sync/run-record.ts';
import type { Context } from '../context.ts';
import type { Idea } from './demo-data.ts';
import type { DemoStage } from './demo-stage.ts';
import { paint, printLine } from '../output.ts';
import { printReport } from '../sync/reconcile.ts';

/** The command that starts the program in any shell and folder. */
function programInShell(): string {
  const main = import.meta.filename.endsWith('.ts') ? '../../main.ts' : '../main.js';
  return [process.execPath, fileURLToPath(new URL(main, import.meta.url))].map(quoted).join(' ');
}

/** A line that makes `musterd` and `psql` in another shell work on this demo. As one line, it is easy to select. */
function lineToPaste({ url, emulator }: Pick<DemoStage, 'url' | 'emulator'>): string {
  const { hostname, port, username, password, pathname } = new URL(url);
  const variables = {
    DATABASE_URL: url,
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: pathname.slice(1),
    ...emulator.environment,
    MUSTERD_ACTOR: 'you',
  };
  const assigned = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return `export ${assigned.join(' ')}; musterd() { ${programInShell()} "$@"; }`;
}

/** Prints the report of each run that pulls, pushes or holds something, or that has a new message. */
export function reportNews(context: Pick<Context, 'out' | 'err' | 'env'>) {
  const reported = new Set<string>();
  // The printed commands are meant for the other terminal, in which the pasted line sets this MUSTERD_ACTOR.
  const toTheirs = { ...context, env: { ...context.env, MUSTERD_ACTOR: 'you' } };
  const isNews = (messages: readonly string[]) => {
    const news = messages.filter((text) => !reported.has(text));
    for (const text of news) reported.add(text);
    return news.length > 0;
  };
  return {
    onRun: (_: unknown, report: RunReport) => {
      const { counts, reasons, refusal, warnings } = report;
      const { pulled = 0, pushed = 0, held = 0 } = counts;
      const refusals = refusal?.reasons ?? [];
      const messages = [...reasons.filter((reason) => !refusals.includes(reason)), ...warnings];
      const isNew = isNews([...messages, ...report.batches]);
      if (isNew || pulled + pushed + held > 0) printReport(toTheirs, report);
    },
    onFailure: (_: unknown, __: unknown, error: unknown) => {
      // Unexpected errors are not printed here, because they are in the log.
      if (error instanceof MusterdError && isNews([error.message]))
        printLine(context.err, printableLines(error.message));
    },
  } satisfies RunWatch;
}

function invite({ context }: DemoStage, line: string, pagePort: number, ideas: readonly Idea[]): void {
  const say = (text: string) => printLine(context.out, text === '' ? '' : `  ${text}`);
  const command = (text: string) => say(`  ${paint(context, 'cyan', text)}`);
  printLine(context.out, '');
  printLine(context.out, paint(context, 'bold', 'What to try next'));
  say('Everything goes on until you press Ctrl+C. The page of the mirror:');
  command(`http://127.0.0.1:${pagePort}/`);
  say('');
  say(
    'Paste this line into another terminal; there, musterd and psql (if you have it) then work on this demo:',
  );
  command(line);
  say('');
  say('Then try these there, one after the other:');
  for (const { why, commands } of ideas) {
    say(why);
    for (const text of commands) command(text);
  }
}

/** Keeps the service, the mirror, the runs and a page running until the process is asked to stop. */
export async function serveDemo(stage: DemoStage, ideas: readonly Idea[]): Promise<void> {
  const { context, db, url, config, log, emulator } = stage;
  const { host } = config.status;
  await using closers = new AsyncDisposableStack();
  const page = await servePage({ db, configs: () => [config], version: context.version, host, port: 0, log });
  closers.defer(() => page.close());
  const { ended } = await serve({
    mirror: { db, url },
    configs: [config],
    log,
    signal: context.signal,
    watch: reportNews(context),
  });
  invite(stage, lineToPaste({ url, emulator }), page.port, ideas);
  await ended;
}
