/** Checks settings beyond their types: no command starts with an invalid schedule or address. */
import type { Mistake } from '../config/load.ts';
import type { Path } from '../config/raw-settings.ts';
import type { Config } from '../config/config.ts';
import { readCallUrl } from './call-url.ts';
import { readSigningKey } from './signing-key.ts';
import { validateSchedule } from './schedule.ts';
import { MusterdError } from '../errors.ts';
import { readConnectionUrl } from '../mirror/db/database-url.ts';
import { scheduledGroups } from '../model/run-group.ts';
import { checkBaseUrl } from '../service/base-url.ts';

/** The mistake that reading a value reports, or none. */
function refusalOf(
  path: Path,
  value: string | undefined,
  read: (value: string) => unknown,
): readonly Mistake[] {
  if (value === undefined) return [];
  try {
    read(value);
    return [];
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    const { message, hint } = error;
    return [{ path, message: hint === undefined ? message : `${message.replace(/\.$/, '')}. ${hint}` }];
  }
}

function mistakesInSchedule({ schedule }: Config): readonly Mistake[] {
  return scheduledGroups.flatMap((group) => {
    const message = validateSchedule(schedule[group]);
    return message === undefined ? [] : [{ path: ['schedule', group], message }];
  });
}

/** A page that decides needs to know who decides: a name with the token. */
function mistakesInStatus({ status: { user, token, decide } }: Config): readonly Mistake[] {
  if (token !== undefined) return [];
  const missing = (key: string, why: string) => [
    { path: ['status', key], message: `status.tokenFile is missing: ${why}` },
  ];
  if (user !== undefined) return missing('user', 'nobody could log in');
  return decide ? missing('decide', 'somebody has to be known who decides') : [];
}

export function mistakesIn(config: Config): readonly Mistake[] {
  const { database, service, ping, notify } = config;
  return [
    ...mistakesInSchedule(config),
    ...mistakesInStatus(config),
    ...refusalOf(['database', 'url'], database.url, readConnectionUrl),
    ...refusalOf(['service', 'baseUrl'], service.baseUrl, checkBaseUrl),
    ...refusalOf(['ping', 'url'], ping.url, readCallUrl),
    ...refusalOf(['notify', 'url'], notify.url, readCallUrl),
    ...refusalOf(['notify', 'secret'], notify.secret, readSigningKey),
  ];
}
