/** The members of each team, kept between runs, so that an edit needs no request for them. */
import type { Config } from '../config/config.ts';
import type { RecalledTeam, TeamMemory } from '../runs/with-run.ts';

/** How long a run of the edits may use them. */
const recalledMs = 60_000;

/** Keyed by configuration: other credentials may belong to another team. */
export function createTeamMemories(monotonicMs: () => number): (config: Config) => TeamMemory {
  const teams = new WeakMap<Config, RecalledTeam & { readonly keptAtMs: number }>();
  return (config) => ({
    recall: () => {
      const kept = teams.get(config);
      if (kept !== undefined && monotonicMs() - kept.keptAtMs < recalledMs) return kept;
      teams.delete(config);
      return undefined;
    },
    keep: (team, readAtMs) => {
      teams.set(config, { team: { ...team, raw: {} }, keptAtMs: readAtMs, population: undefined });
    },
    keepPopulation: (population) => {
      const kept = teams.get(config);
      if (kept !== undefined) teams.set(config, { ...kept, population });
    },
  });
}
