import { createHash } from 'node:crypto';
import { generateTeam } from './generate-team.ts';
import type { TeamSecret, EmulatorOptions, TeamOptions } from '../options.ts';
import type { PlayedTeam } from './played-team.ts';

const standard = {
  name: 'Harbour Street Clinic',
  users: 200,
  tags: 1200,
  fields: 60,
  surveys: 3,
  inboxes: 3,
  contacts: 312_456,
  ratePerMinute: 500,
  seed: 1,
} as const;

/** Creates the teams that the options describe, in order. Throws if two teams have the same id or secret. */
export function createTeams(options: EmulatorOptions): readonly PlayedTeam[] {
  const {
    teamId: firstId = 41,
    name = standard.name,
    secrets,
    apiKey,
    teams: further = [],
    ...shared
  } = options;
  const first = teamOf({
    ...shared,
    teamId: firstId,
    name,
    apiKey,
    secrets,
  });
  const others = further.map((team, at) => {
    const teamId = team.teamId ?? firstId + at + 1;
    return teamOf({ ...shared, name: `Team ${teamId}`, ...team, teamId });
  });
  const teams = [first, ...others];
  unlessRepeated(
    'id',
    teams.map((team) => team.id),
  );
  unlessRepeated(
    'API Secret ID',
    teams.flatMap((team) => team.secrets.map((secret) => secret.id)),
  );
  return teams;
}

/** A team without credentials, whose ids all differ from the given team's. */
export function createStranger(team: PlayedTeam): PlayedTeam {
  return generateTeam({ ...standard, teamId: team.id + 500_000, name: 'Another team', users: 20, tags: 20 });
}

function teamOf(options: TeamOptions & { readonly teamId: number; readonly name: string }): PlayedTeam {
  const team = generateTeam({ ...standard, ...options });
  const secrets = options.secrets ?? [secretOf(team.id, options.seed ?? standard.seed)];
  if (secrets.length > 2) throw new Error('A team has at most two API Secrets.');
  team.secrets.push(...secrets);
  team.apiKey = options.apiKey;
  return team;
}

/** The default secret of a team: the same at each start, so that it can be pasted. */
function secretOf(teamId: number, seed: number): TeamSecret {
  const key = createHash('sha256').update(`emulator ${teamId} ${seed}`).digest('hex').slice(0, 40);
  return { id: `emulated-${teamId}`, key };
}

function unlessRepeated(property: string, values: readonly (number | string)[]): void {
  const twice = values.find((value, at) => values.indexOf(value) !== at);
  if (twice !== undefined) throw new Error(`Two emulated teams have the ${property} ${twice}.`);
}
