import { warnAboveMs } from '../../../service/clock-skew.ts';
import type { Config } from '../../../config/config.ts';
import { readCredentials, writeCredentials } from '../../../mirror/team/credentials.ts';
import type { Database } from '../../../mirror/db/database.ts';
import { checkTeam } from '../../../mirror/team/pinned-teams.ts';
import { readNameSafety } from '../../../mirror/team/name-safety.ts';
import { namesInWords } from '../../../model/intent.ts';
import type { Team } from '../../../model/team.ts';
import { credentialUses, fingerprintsOf } from '../../open-service.ts';
import type { ServiceClient } from '../../../service/client.ts';
import type { Report } from './check-report.ts';
import { seconds } from '../../../model/in-words.ts';
import { showTime } from '../../../model/zone-time.ts';

const words = { current: 'API secret', next: 'next API secret', 'api-key': 'legacy API key' } as const;

/** Tries each credential on `GET /v1/inboxes`. @returns true if any credential is accepted */
export async function checkCredentials(
  service: ServiceClient,
  config: Config,
  db: Database | undefined,
  report: Report,
): Promise<boolean> {
  const needed = db === undefined ? new Map<string, Date>() : await readCredentials(db, config.team);
  const prints = fingerprintsOf(config);
  const checked = await service.checkCredentials();
  for (const { credential, accepted } of checked) {
    const last = needed.get(prints.get(credential) ?? '');
    const use = `last needed by a run ${last === undefined ? 'never' : showTime(last)}`;
    const detail = `${accepted ? 'accepted' : 'refused with 401'}, ${use}`;
    const legacy = credential === 'api-key' ? '; planned for deprecation, make an API Secret' : '';
    const verdict = !accepted ? 'fail' : legacy === '' ? 'ok' : 'note';
    report.add(words[credential], verdict, detail + legacy);
  }
  if (db !== undefined) await writeCredentials(db, config.team, credentialUses(config, service));
  return checked.some(({ accepted }) => accepted);
}

export function checkClock(service: ServiceClient, report: Report): void {
  const offsetMs = service.clockOffsetMs();
  if (offsetMs === null) report.add('clock', 'note', 'the service sends no Date header to compare with');
  else {
    const direction = offsetMs >= 0 ? 'behind' : 'ahead of';
    const verdict = Math.abs(offsetMs) > warnAboveMs ? 'note' : 'ok';
    report.add('clock', verdict, `${seconds(Math.abs(offsetMs))} ${direction} the service's`);
  }
}

/** Warns early about a long answer. The whole team comes in one answer, so if it is too long, no user can be read. */
export function checkLength(service: ServiceClient, report: Report): void {
  const longest = service.longestAnswer();
  if (longest === null) return;
  const { operation, bytes, maxBytes } = longest;
  const share = bytes / maxBytes;
  const detail = `${operation}: ${bytes} bytes, ${Math.ceil(100 * share)} % of the allowed length`;
  const advice = `; if it exceeds ${maxBytes} bytes, no user is mirrored, and no setting raises this limit`;
  report.add('longest answer', share < 0.5 ? 'ok' : 'note', share < 0.5 ? detail : detail + advice);
}

/** Reports whether an update without a name is known to be safe. `--write-probe` finds that out by updating one user. */
export async function checkNames(team: Team, db: Database, report: Report): Promise<void> {
  const names = await readNameSafety(db.kysely, team.id);
  report.add('names', names === 'unknown' ? 'note' : 'ok', namesInWords[names]);
}

/** @returns true if the credentials belong to the team of this mirror */
export async function checkTeamOf(
  team: Team,
  config: Config,
  db: Database | undefined,
  report: Report,
): Promise<boolean> {
  try {
    if (db !== undefined) await checkTeam(db.kysely, config.team, team.id);
    report.add('team', 'ok', `${team.id} "${team.name ?? ''}", ${team.members.length} members`);
    return true;
  } catch (error) {
    report.fail('team', error);
    return false;
  }
}
