import { checkDatabase } from '../../runs/set-up/check/check-database.ts';
import { createReport, keepProbes, type Report } from '../../runs/set-up/check/check-report.ts';
import { checkService } from '../../runs/set-up/check/check-service.ts';
import { openMirror } from '../../runs/open.ts';
import { requireService } from '../../runs/open-service.ts';
import { proxyFor } from '../../service/proxy.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { errorInJson, paint, printJson } from '../output.ts';
import { printTable } from '../print-table.ts';
import { readSettings } from '../setup.ts';

/** Checks the setup. It writes only what the two optional probes write, and the record of its findings. */
export async function checkCommand(
  context: Context,
  options: { readonly writeProbe?: string; readonly notifyProbe?: boolean },
): Promise<ExitCode> {
  const report = createReport();
  const { config, log } = readSettings(context);
  await requireService(config, log);
  const baseUrl = String(config.service.baseUrl);
  const proxy = proxyFor(baseUrl);
  const way = proxy === undefined ? '' : `, by way of the proxy ${proxy.host} (HTTPS_PROXY)`;
  report.add('configuration', 'ok', `${baseUrl}${way}`);
  const onWarning = (words: string) => log.warn(words);
  const mirror = await openMirror(config, () => {}, { signal: context.signal, onWarning }).catch(
    (error: unknown) => {
      report.fail('database', error);
      return undefined;
    },
  );
  try {
    const ready = mirror !== undefined && (await checkDatabase(mirror.db, report));
    const db = ready ? mirror.db : undefined;
    const { signal } = context;
    const verdict = await checkService({ config, log, signal, db, writeProbe: options.writeProbe }, report);
    if (options.notifyProbe === true)
      await (await import('./check-notify.ts')).checkNotify(config, signal, report);
    if (db !== undefined) await keepProbes(db, config.team, report);
    show(context, report);
    log.debug({ findings: report.findings.length }, 'checked');
    if (verdict === 'no credentials') return exitCode.credentials;
    if (verdict === 'another team') return exitCode.configuration;
    return report.findings.some((finding) => finding.verdict === 'fail') ? exitCode.partial : exitCode.ok;
  } finally {
    await mirror?.close();
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
