/**
 * Posts notices about teams to `notify.url`, once for all daemons on the database. The database has a row for the last
 * notice of each event; the daemon that replaces this row sends the next notice. Runs never wait for notices.
 */
import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../log.ts';
import type { Database } from '../mirror/db/database.ts';
import { readTeamsNow, replaceNotice, type TeamsNow, type ToldNotice } from '../mirror/runs/told.ts';
import { needsDecision } from '../model/edit-state.ts';
import type { TeamFreshness } from '../model/freshness.ts';
import {
  eventsOf,
  earliestOf,
  nextNotice,
  type Notice,
  type NoticeStep,
  teamEvents,
  type TeamStanding,
} from '../model/notices.ts';
import { toJson } from '../model/json.ts';
import { sendBlockOf } from '../model/place.ts';
import type { GroupStatus } from '../model/run-group.ts';
import { createBell } from './bell.ts';
import { describeCallError } from './call-out.ts';
import { readCallUrl } from './call-url.ts';
import type { Metrics } from './metrics.ts';
import { describeNotice, type TeamFacts } from './notice-body.ts';
import { post } from './webhook.ts';

/** The address that the notices of a team are sent to. */
export interface Target {
  readonly url: URL;
  readonly secret: string | undefined;
}

/** The addresses of the teams that have one. @throws MusterdError `configuration` */
export const targetsOf = (configs: readonly Config[]): ReadonlyMap<string, Target> =>
  new Map(
    configs.flatMap(({ team, notify: { url, secret } }) =>
      url === undefined ? [] : [[team, { url: readCallUrl(url), secret }]],
    ),
  );

export interface TellerOptions {
  readonly db: Database;
  /** Called at each look, because settings can change. */
  readonly targets: () => ReadonlyMap<string, Target>;
  readonly judge: (standings: readonly GroupStatus[]) => readonly TeamFreshness[];
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly metrics: Pick<Metrics, 'onTold'>;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

export interface Teller {
  /** Looks for notices soon. Called when a run has ended, which can be a reason for a notice. */
  wake(): void;
  /** Sends pending notices and stops. Called when the daemon is about to end with an error. It never rejects. */
  finish(): Promise<void>;
  /** Aborts the current calls. The next daemon sends the notices of these calls. */
  close(): Promise<void>;
}

/** Ms between two looks. */
const everyMs = 15_000;
/** Least ms between two looks. */
const restMs = 1_000;
/** Calls in parallel: few enough that each claimed notice is sent before its claim expires. */
const callsAtOnce = 8;

export function factsOf(read: TeamsNow, { team, groups }: TeamFreshness): TeamFacts {
  const isOurs = (row: { readonly team: string }) => row.team === team;
  const outcomes = new Map(read.standings.filter(isOurs).map(({ group, outcome }) => [group, outcome]));
  return {
    team,
    groups: groups.map(({ group, fresh, ageMs }) => ({
      group,
      fresh,
      sinceMs: Math.round(read.nowMs - ageMs),
      outcome: outcomes.get(group) ?? null,
    })),
    failedRuns: read.failedRuns.filter(isOurs),
    refused: read.refused.find(isOurs),
    batches: read.batches.filter(isOurs),
    held: read.held.filter((row) => isOurs(row) && needsDecision(row) && !row.inBatch),
    placing: read.placing,
  };
}

function sendBlockSince({ placing, nowMs }: TeamsNow): TeamStanding['sendBlock'] {
  const why = sendBlockOf(placing);
  return why === undefined ? null : { why, sinceMs: placing.until?.getTime() ?? nowMs };
}

interface TeamStep extends NoticeStep, Pick<ToldNotice, 'team' | 'event'> {
  readonly before: Notice | undefined;
  readonly facts: TeamFacts;
}

/** Finds which notices to record and which to send. */
export function stepsOf(
  read: TeamsNow,
  freshness: readonly TeamFreshness[],
  createId: () => string,
): readonly TeamStep[] {
  return freshness.flatMap((group) => {
    const facts = factsOf(read, group);
    const { team, refused, batches, held } = facts;
    const events = eventsOf({
      groups: facts.groups,
      refusedSinceMs: refused?.sinceMs ?? null,
      waitingSinceMs: earliestOf(batches),
      heldSinceMs: earliestOf(held),
      sendBlock: sendBlockSince(read),
    });
    return teamEvents.flatMap((event) => {
      const before = read.told.find((told) => told.team === team && told.event === event)?.notice;
      const step = nextNotice(events[event], before, { nowMs: read.nowMs, createId });
      return step === null ? [] : [{ ...step, team, event, before, facts }];
    });
  });
}

export function createTeller(options: TellerOptions): Teller {
  const { db, targets, judge, log, metrics, clock = systemClock } = options;
  const [bell, rest] = [createBell(), createBell()];
  const closing = new AbortController();
  let isOver = false;

  /** @returns why the notice was not accepted, or `null` if it was */
  const send = async (step: TeamStep, target: Target, nowMs: number): Promise<object | null> => {
    const { event, notice, facts } = step;
    const body = toJson(describeNotice(event, notice, facts));
    try {
      const { signal } = closing;
      const status = await post(target.url, { id: notice.id, body, secret: target.secret, signal, nowMs });
      return status >= 200 && status <= 299 ? null : { status };
    } catch (error) {
      return { problem: describeCallError(error) };
    }
  };
  const carryOut = async (step: TeamStep, now: () => number): Promise<void> => {
    const { team, event, before, notice } = step;
    const target = targets().get(team);
    if (target === undefined || !(await replaceNotice(db, step, before, notice)) || !step.send) return;
    const refusal = await send(step, target, now());
    if (closing.signal.aborted) return;
    const sent = { team, event: notice.stands ? event : `${event}: recovered`, id: notice.id };
    if (refusal === null) log.info(sent, 'notice sent');
    else log.warn({ ...sent, ...refusal }, 'notice not sent');
    metrics.onTold(team, refusal === null ? 'accepted' : 'failed');
    if (refusal === null) await replaceNotice(db, step, notice, { ...notice, doneAtMs: now() });
  };
  /** @returns ms until the next look */
  const look = async (): Promise<number> => {
    const teams = [...targets().keys()];
    if (teams.length === 0) return everyMs;
    const read = await readTeamsNow(db, teams);
    const readAtMs = clock.monotonicMs();
    const now = () => Math.round(read.nowMs + clock.monotonicMs() - readAtMs);
    const freshness = judge(read.standings).filter(({ team }) => teams.includes(team));
    const steps = stepsOf(read, freshness, randomUUID);
    const calls = steps.filter(({ send: isSent }) => isSent);
    const others = steps.filter(({ send: isSent }) => !isSent);
    await Promise.all([...others, ...calls.slice(0, callsAtOnce)].map((step) => carryOut(step, now)));
    return calls.length > callsAtOnce ? 0 : everyMs;
  };
  const lookSafely = async () => {
    try {
      return await look();
    } catch (error) {
      if (!closing.signal.aborted) log.warn({ err: error }, 'notices not read from the mirror: trying again');
      return everyMs;
    }
  };
  const goRound = async () => {
    while (!isOver) {
      const waitMs = await lookSafely();
      if (!isOver) await rest.sleep(restMs);
      if (!isOver) await bell.sleep(waitMs);
    }
  };
  const round = goRound();
  const end = async () => {
    isOver = true;
    bell.ring();
    rest.ring();
    await round;
  };
  return {
    wake: () => bell.ring(),
    finish: async () => {
      await end();
      await lookSafely();
    },
    close: async () => {
      closing.abort();
      await end();
    },
  };
}
