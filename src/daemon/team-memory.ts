/** Remembers each team for a minute, so that a push need not read the team: with 100,000 members that takes 0.5 s. */
import type { Config } from '../config/config.ts';
import type { Team } from '../model/team.ts';
import type { TeamMemory } from '../runs/sync/with-run.ts';

/** The longest time for which runs of edits use a remembered team, in ms. */
const recalledMs = 60_000;

/** Keyed by configuration: other credentials may belong to another team. */
export function createTeamMemories(monotonicMs: () => number): (config: Config) => TeamMemory {
  const teams = new WeakMap<Config, { readonly team: Team; readonly readAtMs: number }>();
  return (config) => ({
    recall: () => {
      const kept = teams.get(config);
      return kept !== undefined && monotonicMs() - kept.readAtMs < recalledMs ? kept.team : undefined;
    },
    keep: (team, readAtMs) => void teams.set(config, { team: { ...team, raw: {} }, readAtMs }),
  });
}
