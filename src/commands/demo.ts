/** `musterd demo`: the whole story, on a service and a mirror that exist for as long as it runs. */
import type { RunReport } from '../runs/run-record.ts';
import { type PlanReport, runPlan, runReconcile } from '../runs/reconcile-team.ts';
import { type Config, configSchema } from '../config/config.ts';
import { createEmulator, type Emulator } from '../emulator/create-emulator.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createDatabase, type Database } from '../mirror/database.ts';
import { type Embedded, openEmbedded } from '../embedded/embedded.ts';
import { migrate } from '../mirror/migrations.ts';
import { serve } from '../daemon/serve.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { differencesOf, editsOf, readRows, type SqlEdit } from './demo-data.ts';
import { paint, printLine } from './output.ts';
import { printTable } from './print-table.ts';
import { plannedChangesOf, printPlan } from './plan.ts';
import { printReport } from './reconcile.ts';

interface Stage {
  readonly context: Context;
  readonly emulator: Emulator;
  readonly embedded: Embedded;
  readonly db: Database;
  readonly config: Config;
  readonly log: Log;
}

/** Opens everything, hands it to `work`, and leaves nothing behind. */
async function onStage<R>(context: Context, work: (stage: Stage) => Promise<R>): Promise<R> {
  // One that cannot be closed keeps the others from nothing.
  await using closers = new AsyncDisposableStack();
  const emulator = await createEmulator({ http: true, seed: 1 });
  closers.defer(() => emulator.close());
  const embedded = await openEmbedded({
    ephemeral: true,
    onProgress: (step) => printLine(context.err, `${step} …`),
  });
  closers.defer(() => embedded.close());
  const db = createDatabase({ url: embedded.url, applicationName: 'musterd demo' });
  closers.defer(() => db.close());
  const {
    MUSTERD_BASE_URL: baseUrl,
    MUSTERD_SECRET_ID: secretId,
    MUSTERD_SECRET_KEY: secretKey,
  } = emulator.environment;
  const config = configSchema.parse({
    service: { baseUrl, secretId, secretKey },
    schedule: { users: '*/10 * * * * *' },
  });
  const log = context.createLog(undefined, 'warn', []);
  return await work({ context, emulator, embedded, db, config, log });
}

function chapter({ context }: Stage, number: number, title: string, ...words: readonly string[]): void {
  printLine(context.out, '');
  printLine(context.out, paint(context, 'bold', `${number}. ${title}`));
  for (const text of words) printLine(context.out, text);
}

function reconcile({ db, config, log, context }: Stage): Promise<RunReport> {
  return runReconcile(db, config, 'reconcile', { log, signal: context.signal });
}

async function show(stage: Stage, query: string): Promise<void> {
  printLine(stage.context.out, paint(stage.context, 'cyan', `  sql> ${query}`));
  const { head, rows } = await readRows(stage.db, query);
  printTable(stage.context, head, rows);
}

async function edit(stage: Stage, edits: readonly SqlEdit[]): Promise<void> {
  for (const { statement, why } of edits) {
    printLine(
      stage.context.out,
      `${paint(stage.context, 'cyan', `  sql> ${statement}`)}   ${paint(stage.context, 'dim', `-- ${why}`)}`,
    );
    await readRows(stage.db, statement);
  }
}

/** @returns whether both sides ended up equal */
async function tell(stage: Stage): Promise<boolean> {
  const { context, emulator, db } = stage;
  chapter(
    stage,
    1,
    'The first run adopts everything',
    'The service lists 200 users, 1,200 tags, 60 contact fields; the mirror is empty.',
  );
  await migrate(db);
  printLine(context.out, '  the schema is in place');
  printReport(context, await reconcile(stage));
  await show(
    stage,
    'select id, name, first_name, last_name, email, phone, role_id, role from mirror.users order by id limit 8',
  );

  const plot = editsOf(emulator.team.users());
  chapter(stage, 2, 'Both sides are edited', 'Somebody changes a phone number in the web app:');
  emulator.team.editUser(plot.onService.id, { phone: plot.onService.phone });
  printLine(context.out, `  user ${plot.onService.id}: phone becomes ${plot.onService.phone}`);
  printLine(context.out, 'And you edit three users in SQL:');
  await edit(stage, plot.inMirror);

  chapter(stage, 3, 'The plan shows what would move', 'Nothing is written on either side.');
  const planned: PlanReport = await runPlan(db, stage.config, { log: stage.log, signal: context.signal });
  printPlan(context, planned, plannedChangesOf(planned));

  chapter(stage, 4, 'The second run moves it');
  emulator.clearRequests();
  printReport(context, await reconcile(stage));
  const sent = emulator.requests.filter(({ path }) => path === '/v1/users/update');
  for (const { body } of sent) printLine(context.out, `  POST /v1/users/update ${JSON.stringify(body)}`);

  chapter(stage, 5, 'Both sides are equal');
  await showBothSides(stage, [plot.onService.id, ...plot.inMirror.map(({ userId }) => userId)]);
  const differences = await differencesOf(db, emulator.team.users());
  printLine(
    context.out,
    differences.length === 0
      ? '  200 of 200 users are equal on both sides.'
      : `  Different: ${differences.join(', ')}`,
  );

  chapter(stage, 6, 'Reports, for SQL or any tool that speaks it');
  await show(stage, 'select role, count(*) as users from report.roster group by role order by users desc');
  await show(stage, 'select segment, day, count, samples from report.contact_counts_daily');
  await show(
    stage,
    "select field, user_id, kind, old_value, new_value, outcome from report.changes where kind <> 'adopt' order by change_id, field",
  );
  await show(
    stage,
    'select run_id, outcome, duration::text, requests, waiting from report.runs order by run_id',
  );
  await show(stage, 'select count(*) as pending_edits from report.pending');
  return differences.length === 0;
}

async function showBothSides({ context, db, emulator }: Stage, ids: readonly number[]): Promise<void> {
  const { rows } = await readRows(
    db,
    `select id, name, email, phone, role_id from mirror.users where id in (${ids.join(', ')}) order by id`,
  );
  const sides = rows.flatMap((row) => {
    const user = emulator.team.user(Number(row[0]));
    const name = [user.first, user.last].filter(Boolean).join(' ');
    return [
      ['mirror', ...row],
      ['service', user.id, name, user.email, user.phone, user.roleId],
    ];
  });
  printTable(context, ['side', 'id', 'name', 'email', 'phone', 'role_id'], sides);
}

/** As it is called in a checkout, and where it is installed. */
const musterd = import.meta.filename.endsWith('.ts') ? 'npm run -s musterd --' : 'musterd';

function whatNext({ context, embedded }: Stage, serving: boolean): void {
  printLine(context.out, '');
  printLine(context.out, paint(context, 'bold', 'What to try next'));
  const ideas = serving
    ? [
        `Edit the mirror; a moment later it is on the service, and what changes there is here within 10 seconds:`,
        `  ${embedded.psqlCommand}`,
        `  update mirror.users set first_name = 'Robin' where id = (select min(id) from mirror.users);`,
        'Press Ctrl+C to end; nothing is left behind.',
      ]
    : [
        ['demo --serve', 'keep all of this running, and edit the mirror yourself'],
        ['emulator --http', 'the service alone, with an environment to paste'],
        ['reconcile', 'one run, with that environment, on a mirror that stays'],
      ].map(([words = '', what = '']) => `${`${musterd} ${words}`.padEnd(45)}${what}`);
  for (const idea of ideas) printLine(context.out, `  ${idea}`);
}

/** Keeps the service, the mirror and the loop going until somebody asks to stop. */
async function keepServing({ db, embedded, config, log, context }: Stage): Promise<void> {
  const onRun = (_: Config, report: RunReport) => {
    const { pulled = 0, pushed = 0, held = 0 } = report.counts;
    if (pulled + pushed + held > 0) printReport(context, report);
  };
  const onFailure = (_: Config, __: unknown, error: unknown) => {
    if (!(error instanceof MusterdError)) throw error;
    if (error.code !== 'stopped') printLine(context.err, error.message);
  };
  const mirror = { db, url: embedded.url };
  const watch = { onRun, onFailure };
  const { ended } = await serve({ mirror, configs: [config], log, signal: context.signal, watch });
  await ended;
}

export async function demoCommand(
  context: Context,
  options: { readonly serve?: boolean },
): Promise<ExitCode> {
  return onStage(context, async (stage) => {
    const equal = await tell(stage);
    whatNext(stage, options.serve === true);
    if (options.serve === true && !context.signal.aborted) await keepServing(stage);
    return equal ? exitCode.ok : exitCode.partial;
  });
}
