import type { EmulatorClock } from './rules/emulator-clock.ts';
import type { FaultBox } from './faults/fault-box.ts';
import type { HookRunner } from './faults/hooks.ts';
import type { LateWrites } from './faults/late-writes.ts';
import type { RateLimit } from './rules/rate-limit.ts';
import type { RequestLog } from './wire/request-log.ts';
import type { PlayedTeam } from './rules/played-team.ts';
import { restoreSnapshot } from './control/snapshot.ts';
import type { Variants } from './faults/variants.ts';

/** The state of the emulator, which all requests share. */
export interface EmulatorWorld {
  readonly teams: readonly PlayedTeam[];
  readonly rateLimits: ReadonlyMap<number, RateLimit>;
  readonly clock: EmulatorClock;
  readonly log: RequestLog;
  readonly hooks: HookRunner;
  readonly faults: FaultBox;
  readonly late: LateWrites;
  /** Returns a team other than `team`, for answers with another team's rows. */
  readonly stranger: (team: PlayedTeam) => PlayedTeam;
  variants: Variants;
}

/** Gives the teams the content of the snapshot, and drops the late writes that still wait. */
export function restoreWorld(world: EmulatorWorld, snapshot: unknown): void {
  restoreSnapshot(world.teams, snapshot);
  world.late.clear();
}
