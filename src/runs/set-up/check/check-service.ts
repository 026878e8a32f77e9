/** Checks of the service: credentials, clock, team, and behavior that the interface does not define. */
import type { Config } from '../../../config/config.ts';
import { MusterdError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { Database } from '../../../mirror/db/database.ts';
import { requireHome } from '../../../mirror/team/known-place.ts';
import { describeDenial } from '../../denial.ts';
import { createService, sharePace } from '../../open-service.ts';
import { checkClock, checkCredentials, checkLength, checkNames, checkTeamOf } from './check-access.ts';
import { probeService } from './check-probes.ts';
import type { Report } from './check-report.ts';
import { probeWrites } from './check-write-probe.ts';

export interface CheckedService {
  readonly config: Config;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** `undefined` if there is no mirror, or if it is not ready. */
  readonly db: Database | undefined;
  /** The user that `--write-probe` names, to try an update on. */
  readonly writeProbe: string | undefined;
}

/** How far the checks got: `asked` means that all ran, or that an error stopped them. The results are in the report. */
export type ServiceVerdict = 'no credentials' | 'another team' | 'asked';

/** Runs the checks of the service, as far as the credentials allow. */
export async function checkService(
  { config, log, signal, db, writeProbe }: CheckedService,
  report: Report,
): Promise<ServiceVerdict> {
  const pace = db === undefined ? null : sharePace(db, config);
  if (writeProbe !== undefined && db !== undefined) await requireHome(db);
  const mode = writeProbe === undefined ? 'read-only' : 'read-write';
  const service = createService(config, mode, { log, signal, pace });
  try {
    if (!(await checkCredentials(service, config, db, report))) {
      report.fail('service', new MusterdError('credentials', 'The service accepts none of the credentials'));
      return 'no credentials';
    }
    checkClock(service, report);
    const team = await service.team();
    if (!(await checkTeamOf(team, config, db, report))) return 'another team';
    await probeService(service, team, config, db, report);
    if (db !== undefined && writeProbe === undefined) await checkNames(team, db, report);
    checkLength(service, report);
    if (writeProbe !== undefined) await probeWrites(service, team, db, config, writeProbe, report);
    return 'asked';
  } catch (error) {
    if (error instanceof MusterdError && ['stopped', 'usage', 'lease-held'].includes(error.code)) throw error;
    const told = describeDenial(error, 'musterd check');
    report.fail('service', told);
    return told === error ? 'asked' : 'no credentials';
  } finally {
    await service.close();
  }
}
