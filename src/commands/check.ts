import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database } from '../mirror/database.ts';
import { writeProbes } from '../mirror/probes.ts';
import { createService, openMirror, requireService, sharePace } from '../runs/open.ts';
import { checkClock, checkCredentials, checkTeamOf } from '../runs/check/check-access.ts';
import { checkDatabase } from '../runs/check/check-database.ts';
import { probeService } from '../runs/check/check-probes.ts';
import { createReport, type Report } from '../runs/check/check-report.ts';
import { probeWrites } from '../runs/check/check-write-probe.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { errorInJson } from './error-in-json.ts';
import { paint, printJson, printTable } from './output.ts';
import { readSettings } from './setup.ts';

/** The doctor. Reads only, but for `--write-probe`, which says so, and the record of what it found. */
export async function checkCommand(
  context: Context,
  options: { readonly writeProbe?: string },
): Promise<ExitCode> {
  const report = createReport();
  const { config, log } = readSettings(context);
  await requireService(config, log);
  report.add('configuration', 'ok', String(config.service.baseUrl));
  const mirror = await openMirror(config, () => {}).catch((error: unknown) => {
    report.fail('database', error);
    return undefined;
  });
  try {
    const ready = mirror !== undefined && (await checkDatabase(mirror.db, report));
    const db = ready ? mirror.db : undefined;
    const code = await checkService({ context, config, log }, report, db, options.writeProbe);
    if (db !== undefined) await writeProbes(db, config.team, report.probes);
    show(context, report);
    log.debug({ findings: report.findings.length }, 'checked');
    if (code !== exitCode.ok) return code;
    return report.findings.some(({ verdict }) => verdict === 'fail') ? exitCode.partial : exitCode.ok;
  } finally {
    await mirror?.close();
  }
}

/** The service's half; it goes as far as the credentials allow. */
async function checkService(
  { context, config, log }: { readonly context: Context; readonly config: Config; readonly log: Log },
  report: Report,
  db: Database | undefined,
  writeProbe: string | undefined,
): Promise<ExitCode> {
  const pace = db === undefined ? null : await sharePace(db, config);
  const mode = writeProbe === undefined ? 'read-only' : 'read-write';
  const service = createService(config, mode, { log, signal: context.signal, pace });
  try {
    if (!(await checkCredentials(service, config, db, report))) {
      report.fail('service', new MusterdError('credentials', 'The service accepts none of the credentials'));
      return exitCode.credentials;
    }
    checkClock(service, config, report);
    const team = await service.team();
    if (!(await checkTeamOf(team, config, db, report))) return exitCode.configuration;
    await probeService(service, team, config, db, report);
    if (writeProbe !== undefined) await probeWrites(service, team, db, config, writeProbe, report);
    return exitCode.ok;
  } catch (error) {
    if (error instanceof MusterdError && ['stopped', 'usage', 'lease-held'].includes(error.code)) throw error;
    report.fail('service', error);
    return exitCode.ok;
  } finally {
    await service.close();
  }
}

const marks = { ok: 'ok', note: 'note', fail: 'FAIL' } as const;
const styles = { ok: 'green', note: 'yellow', fail: 'red' } as const;

function show(context: Context, { findings, probes, errors }: Report): void {
  if (context.json) {
    const error = errors.length === 0 ? null : errorInJson(errors[0]);
    printJson(context, { ok: findings.every(({ verdict }) => verdict !== 'fail'), error, findings, probes });
    return;
  }
  const rows = findings.map(({ check, verdict, detail }) => [
    paint(context, styles[verdict], marks[verdict]),
    check,
    detail,
  ]);
  printTable(context, ['', 'check', 'finding'], rows);
}
