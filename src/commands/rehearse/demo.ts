/** `musterd demo`: shows musterd at work, on a service and a mirror that exist only for the demo. */
import type { RunReport } from '../../runs/sync/run-record.ts';
import { verifyTeam } from '../../runs/look/verify-team.ts';
import { type PlanReport, runPlan, runReconcile } from '../../runs/sync/reconcile-team.ts';
import { migrateMirror } from '../../runs/set-up/migrate-mirror.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { editsOf, ideasOf, type Plot, readRows, type SqlEdit } from './demo-data.ts';
import { type DemoStage as Stage, onDemoStage } from './demo-stage.ts';
import { paint, printLine } from '../output.ts';
import { printTable } from '../print-table.ts';
import { plannedChangesOf, printPlan } from '../look/plan.ts';
import { printReport } from '../sync/reconcile.ts';

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

/** Plays all steps of the demo. @returns true if both sides are equal at the end */
async function tell(stage: Stage, plot: Plot): Promise<boolean> {
  const { context, emulator, db } = stage;
  chapter(
    stage,
    1,
    'The first run adopts everything',
    'The service lists 200 users, 1,200 tags, 60 contact fields; the mirror is empty.',
  );
  await migrateMirror(db);
  printLine(context.out, '  the schema is in place');
  printReport(context, await reconcile(stage));
  await show(
    stage,
    'select id, name, first_name, last_name, email, phone, role_id, role from mirror.users order by id limit 8',
  );

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
  const { equal, differences } = await verifyTeam(db, stage.config, {
    log: stage.log,
    signal: context.signal,
  });
  printLine(
    context.out,
    equal
      ? '  200 of 200 users are equal on both sides.'
      : `  Different: ${differences.map(({ id }) => id).join(', ')}`,
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
  return equal;
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

/** The command that starts musterd: in a checkout, or with the package installed. */
const musterd = import.meta.filename.endsWith('.ts') ? 'npm run -s musterd --' : 'musterd';

function whatNext({ context }: Stage): void {
  printLine(context.out, '');
  printLine(context.out, paint(context, 'bold', 'What to try next'));
  for (const [words, what] of [
    ['demo --serve', 'keep all of this running, and edit the mirror yourself'],
    ['emulator --http', 'the service alone, with an environment to paste'],
    ['reconcile', 'one run in another terminal, with that environment, on a mirror that stays'],
  ] as const)
    printLine(context.out, `  ${`${musterd} ${words}`.padEnd(45)}${what}`);
}

export async function demoCommand(
  context: Context,
  { serve = false }: { readonly serve?: boolean },
): Promise<ExitCode> {
  try {
    return await onDemoStage(context, async (stage) => {
      const users = stage.emulator.team.users();
      const plot = editsOf(users);
      const equal = await tell(stage, plot);
      if (!serve) whatNext(stage);
      else if (!context.signal.aborted)
        await (await import('./demo-serve.ts')).serveDemo(stage, ideasOf(users, plot));
      return equal ? exitCode.ok : exitCode.partial;
    });
  } finally {
    if (context.signal.aborted)
      printLine(context.out, '\nThe demo has ended, and so has all that it started; nothing is left behind.');
  }
}
