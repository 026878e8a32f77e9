/** The record of one run: its result, written in the transaction that releases the lease. */
import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { LockedError, MusterdError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { type EndpointCount, type FinishedRun, finishRun } from '../../mirror/runs/runs.ts';
import { readBatches } from '../../mirror/users/held-batches.ts';
import { nameBatches } from '../../mirror/users/last-edits.ts';
import type { KnownTeam } from '../../mirror/team/known-team.ts';
import { type Learned, writeLearned } from '../../mirror/team/learned.ts';
import type { Lease } from '../../mirror/team/lease.ts';
import type { Id } from '../../model/id.ts';
import type { SendBlock } from '../../model/place.ts';
import type { RunGroup, RunOutcome } from '../../model/run-group.ts';
import type { TeamHead } from '../../model/team.ts';
import type { RunNotes } from '../../reconcile/run-notes.ts';
import type { RequestEvent, ServiceEvent } from '../../service/event.ts';

const nothing: EndpointCount = {
  requests: 0,
  throttled: 0,
  failed: 0,
  ms: 0,
  slowest_ms: 0,
  slowest_request_id: null,
};

const isThrottled = ({ status }: RequestEvent) => status === 429;
const isFailed = ({ status }: RequestEvent) => status === null || (status >= 400 && status !== 429);

function withRequest(count: EndpointCount, event: RequestEvent): EndpointCount {
  const tookMs = Math.round(event.durationMs);
  const isSlowest = count.requests === 0 || tookMs > count.slowest_ms;
  return {
    requests: count.requests + 1,
    throttled: count.throttled + Number(isThrottled(event)),
    failed: count.failed + Number(isFailed(event)),
    ms: count.ms + tookMs,
    slowest_ms: isSlowest ? tookMs : count.slowest_ms,
    slowest_request_id: isSlowest ? event.requestId : count.slowest_request_id,
  };
}

export function createEndpointCounts() {
  const counts = new Map<string, EndpointCount>();
  return {
    onServiceEvent: (event: ServiceEvent) => {
      if (event.kind !== 'request') return;
      counts.set(event.operation, withRequest(counts.get(event.operation) ?? nothing, event));
    },
    /** The counts by endpoint, such as `GET /v1/team`. */
    byEndpoint: (): Readonly<Record<string, EndpointCount>> => Object.fromEntries(counts),
    /** The number of requests to all endpoints. */
    requests: () => [...counts.values()].reduce((sum, { requests }) => sum + requests, 0),
  };
}

/** The result of a run. */
export interface RunReport {
  readonly team: { readonly id: Id; readonly name: string | null };
  readonly runId: bigint;
  readonly groups: readonly RunGroup[];
  readonly outcome: RunOutcome;
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  /** Set if the guard stopped pushes, which wait for an approval. */
  readonly refusal: RunNotes['refusal'];
  /** The batches that "musterd approve" decides about, the oldest first. */
  readonly batches: readonly string[];
  readonly counts: RunNotes['counts'];
  /** The number of held fields that wait for a person. */
  readonly held: number;
  /** `held` plus the number of users that wait in batches. It is at least 1 if the guard stopped pushes. */
  readonly waiting: number;
  readonly requests: number;
  readonly durationMs: number;
  /** The reason why the run could send nothing, or `null` if it could send. */
  readonly sendBlock: SendBlock | null;
}

export interface BegunRun {
  readonly lease: Lease;
  readonly runId: bigint;
  readonly known: KnownTeam;
}

interface RecordOptions {
  readonly config: Config;
  readonly begun: BegunRun;
  readonly groups: readonly RunGroup[];
  readonly log: Log;
  readonly notes: RunNotes;
  readonly learned: () => readonly Learned[];
}

/** The record of one run. It is closed in one transaction, which also releases the lease. */
export function createRecord({
  config,
  begun: { lease, runId },
  groups,
  log,
  notes,
  learned,
}: RecordOptions) {
  const startedMs = systemClock.monotonicMs();
  const endpointCounts = createEndpointCounts();
  const finish = async (
    outcome: RunOutcome,
    reasons: readonly string[],
    waiting: FinishedRun['waiting'],
    { isUnchanged = false, errorCode }: { readonly isUnchanged?: boolean; readonly errorCode?: string } = {},
  ) => {
    const { requestIds, longestPushMs } = notes;
    const counts = {
      ...notes.counts,
      ...(longestPushMs === null ? {} : { push_window_ms: longestPushMs }),
    };
    const requests = endpointCounts.requests();
    let waits: Pick<RunReport, 'held' | 'waiting' | 'batches'> = { held: 0, waiting: 0, batches: [] };
    const news = learned();
    const run = {
      outcome,
      reasons,
      counts,
      waiting,
      requests,
      endpoints: endpointCounts.byEndpoint(),
      requestIds,
      errorCode,
    };
    await lease.release(async (tx) => {
      if (!isUnchanged) await nameBatches(tx, runId);
      const { isNoted, ...left } = await finishRun(tx, runId, run);
      const stopped = waiting === null || notes.refusal === null ? [] : await readBatches(tx, waiting.teamId);
      waits = { ...left, batches: stopped.flatMap((batch) => (batch.isStopped ? [batch.hash] : [])) };
      // If the end was not noted, this run had stalled, and a later run has stored newer facts.
      if (isNoted && news.length > 0) await writeLearned(tx, config.team, news);
    });
    const durationMs = Math.round(systemClock.monotonicMs() - startedMs);
    log.info({ outcome, counts, waiting: waits.waiting, requests, durationMs }, 'run finished');
    return { outcome, reasons, ...waits, counts, requests, durationMs };
  };
  return {
    onServiceEvent: endpointCounts.onServiceEvent,
    /** @param isUnchanged true if nothing was held or edited when the run began, so that nothing can wait */
    end: async ({ id, name }: TeamHead, isUnchanged: boolean, sendBlock?: SendBlock): Promise<RunReport> => {
      const { refusal, warnings } = notes;
      const outcome = outcomeOf(notes);
      const reasons = [...notes.reasons, ...(refusal?.reasons ?? [])];
      const waiting = isUnchanged ? null : { teamId: id, atLeast: refusal === null ? 0 : 1 };
      const ended = await finish(outcome, reasons, waiting, { isUnchanged }).catch((error: unknown) => {
        if (!(error instanceof LockedError)) throw error;
        return finish('partial', [...reasons, `waiting edits were not counted: ${error.message}`], null);
      });
      return { team: { id, name }, runId, groups, warnings, refusal, sendBlock: sendBlock ?? null, ...ended };
    },
    endEarly: async (error: unknown) => {
      log.error({ err: error }, 'run failed');
      const code = error instanceof MusterdError ? error.code : 'unexpected';
      const reason = error instanceof Error ? error.message : String(error);
      const reasons = [...notes.reasons, reason];
      await finish(code === 'stopped' ? 'partial' : 'failed', reasons, null, { errorCode: code }).catch(
        (lost: unknown) => {
          log.error({ err: lost }, 'run not recorded');
        },
      );
    },
  };
}

function outcomeOf({ refusal, reasons }: RunNotes): RunOutcome {
  if (refusal?.stopped === true) return 'refused';
  return reasons.length === 0 ? 'complete' : 'partial';
}
