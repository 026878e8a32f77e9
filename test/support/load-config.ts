/** Settings as the commands load them. */
import type { Config } from '../../src/config/config.ts';
import * as load from '../../src/config/load.ts';
import { mistakesIn } from '../../src/daemon/config-checks.ts';

type Environment = Parameters<typeof load.loadConfiguration>[1];

export function loadConfiguration(file: string | undefined, env: Environment): load.Configuration {
  return load.loadConfiguration(file, env, mistakesIn);
}

/** The settings of one team; its name may be left out where there is one team only. */
export function loadConfig(file: string | undefined, env: Environment, team?: string): Config {
  return load.onlyTeam(load.selectTeam(loadConfiguration(file, env), load.requestedTeam(env, team)));
}
