import type { EndpointAnswer } from '../wire/endpoint.ts';
import { putUser, type PlayedTeam } from '../rules/played-team.ts';

/** Writes that were accepted and take effect later. */
export interface LateWrites {
  /** Adds a write that takes effect when both `requestNumber` and `dueMs` are reached. */
  add(late: { readonly requestNumber: number; readonly dueMs: number; readonly apply: () => void }): void;
  /** Carries out the writes that are due at this request; without arguments, all waiting writes. */
  settle(requestNumber?: number, nowMs?: number): void;
  /** Drops the waiting writes. */
  clear(): void;
}

export function createLateWrites(): LateWrites {
  let waiting: Parameters<LateWrites['add']>[0][] = [];
  return {
    add: (late) => {
      waiting.push(late);
    },
    settle: (requestNumber = Number.POSITIVE_INFINITY, nowMs = Number.POSITIVE_INFINITY) => {
      const due = waiting.filter((late) => late.requestNumber <= requestNumber && late.dueMs <= nowMs);
      waiting = waiting.filter((late) => !due.includes(late));
      for (const late of due) late.apply();
    },
    clear: () => {
      waiting = [];
    },
  };
}

/** Returns the answer that the write would have, and then restores the users. */
export function rehearse(team: PlayedTeam, write: () => EndpointAnswer): EndpointAnswer {
  const before = new Map(team.users);
  const answer = write();
  for (const [id, user] of before) {
    if (team.users.get(id) !== user) putUser(team, user);
  }
  return answer;
}
