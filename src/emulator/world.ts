import type { EmulatorClock } from './emulator-clock.ts';
import type { FaultBox } from './fault-box.ts';
import type { HookRunner } from './hooks.ts';
import type { LateWrites } from './late-writes.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequestLog } from './request-log.ts';
import type { PlayedTeam } from './played-team.ts';
import { restoreSnapshot } from './snapshot.ts';
import type { Variants } from './variants.ts';

/** Everything that the serving side works on. */
export interface EmulatorWorld {
  readonly teams: readonly PlayedTeam[];
  readonly rateLimits: ReadonlyMap<number, RateLimit>;
  readonly clock: EmulatorClock;
  readonly log: RequestLog;
  readonly hooks: HookRunner;
  readonly faults: FaultBox;
  readonly late: LateWrites;
  /** A team other than this one, for answers that do not belong to the caller. */
  readonly stranger: (team: PlayedTeam) => PlayedTeam;
  variants: Variants;
}

/** Gives the teams the content of the snapshot, and drops the late writes that were still to come. */
export function restoreWorld(world: EmulatorWorld, snapshot: unknown): void {
  restoreSnapshot(world.teams, snapshot);
  world.late.clear();
}
