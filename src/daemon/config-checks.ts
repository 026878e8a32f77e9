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

/** The mistake that `read` finds in a value; an empty list if it finds none. */
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

/** Mistakes in `status.people`. Each person must have a valid name, and a token that no other person has. */
function mistakesInStatus({ status: { people } }: Config): readonly Mistake[] {
  const all = Object.entries(people);
  const complaintAbout = (name: string, own: string | undefined) => {
    if (own === undefined) return 'tokenFile is missing for this person';
    if (name === '' || name.trim() !== name) return 'a name is expected, without white space around it';
    if (name.includes(':')) return 'a name must not contain a colon: browsers cut it off there';
    const isShared = all.some(([other, given]) => other !== name && given.token === own);
    return isShared ? 'another person has the same token' : undefined;
  };
  return all.flatMap(([name, { token: own }]) => {
    const message = complaintAbout(name, own);
    return message === undefined ? [] : [{ path: ['status', 'people', name], message }];
  });
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
