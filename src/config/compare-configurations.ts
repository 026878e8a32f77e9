/** Compares the settings before and after they were read again, for example after SIGHUP. */
import { isDeepStrictEqual } from 'node:util';
import { type Config, teamSections } from './config.ts';

export interface ConfigurationChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Teams that existed before and still exist, but with other settings of their own. Shared settings do not count. */
  readonly changed: readonly string[];
  /** Settings of the process that differ, such as `database.url`. They take effect at its next start. */
  readonly needsRestart: readonly string[];
}

interface Teams {
  readonly teams: readonly [Config, ...(readonly Config[])];
}

function ownOf(config: Config): object {
  return Object.fromEntries(Object.entries(config).filter(([section]) => teamSections.has(section)));
}

/** The settings that all teams share, such as those of the database and the log. */
function sharedOf([config]: Teams['teams']): ReadonlyMap<string, unknown> {
  const sections = Object.entries(config).filter(([name]) => name !== 'team' && !teamSections.has(name));
  return new Map(
    sections.flatMap(([section, values]) =>
      Object.entries(values).map(([key, value]) => [`${section}.${key}`, value] as const),
    ),
  );
}

export function compareConfigurations(before: Teams, after: Teams): ConfigurationChange {
  const earlier = new Map(before.teams.map((config) => [config.team, config]));
  const later = new Map(after.teams.map((config) => [config.team, config]));
  const names = [...later.keys()];
  const shared = [sharedOf(before.teams), sharedOf(after.teams)] as const;
  const settings = new Set(shared.flatMap((values) => [...values.keys()]));
  return {
    added: names.filter((name) => !earlier.has(name)),
    removed: [...earlier.keys()].filter((name) => !later.has(name)),
    changed: after.teams.flatMap((config) => {
      const old = earlier.get(config.team);
      return old === undefined || isDeepStrictEqual(ownOf(old), ownOf(config)) ? [] : [config.team];
    }),
    needsRestart: [...settings].filter(
      (name) => !isDeepStrictEqual(shared[0].get(name), shared[1].get(name)),
    ),
  };
}
