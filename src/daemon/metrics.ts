/**
 * The daemon's metrics for Prometheus. Events of this process are counted as they happen. The state of the teams is
 * read from the database at each scrape, so that all processes report the same state. Labels hold only names of teams
 * and words from fixed lists, no personal data.
 */
import { movedKinds } from '../model/moved-kinds.ts';
import type { RunGroup, RunOutcome } from '../model/run-group.ts';
import type { RunEvent } from '../reconcile/run-notes.ts';
import type { RequestEvent, ServiceEvent } from '../service/event.ts';
import { createMeters, forgetOtherTeams, type Meters } from './prometheus.ts';
import { createScrape, knownWord, type ScrapeOptions, labelWords } from './scraped-metrics.ts';

/** The events of the service client that are counted, with the members that the metrics use. */
export type MeteredServiceEvent =
  | Pick<RequestEvent, 'kind' | 'operation' | 'phase' | 'status' | 'durationMs' | 'waitedMs'>
  | Pick<Exclude<ServiceEvent, RequestEvent>, 'kind'>;

type PushEvent = RunEvent & { readonly kind: 'push' };
export type MeteredRunEvent =
  | Pick<PushEvent, 'kind' | 'windowMs'>
  | Pick<Exclude<RunEvent, PushEvent>, 'kind'>;

export interface MeteredRun {
  readonly groups: readonly RunGroup[];
  readonly outcome: string;
  /** The counts of the run, by kind. Absent if the run ended early. */
  readonly counts?: Readonly<Record<string, number | undefined>>;
  /** Absent if the duration was not measured. */
  readonly durationMs?: number;
}

export interface MetricsOptions extends ScrapeOptions {
  /** The names, as in the client, of the operations that runs use. */
  readonly operations?: readonly string[];
  readonly version?: string;
}

/** Counts events, and renders all metrics. The listeners never throw. */
export interface Metrics {
  onServiceEvent(team: string, event: MeteredServiceEvent): void;
  onRunEvent(team: string, event: MeteredRunEvent): void;
  onRun(team: string, run: MeteredRun): void;
  onQuery(ms: number): void;
  /** Counts a posted notice by its outcome. */
  onTold(team: string, outcome: 'accepted' | 'failed'): void;
  /**
   * Sets the current teams. Counters of other teams are removed. All counters of these teams begin with 0, because
   * Prometheus sees no increase in a counter that it first sees with 1.
   */
  keepTeams(teams: readonly string[]): Promise<void>;
  /** Renders all metrics, even if the database does not answer. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The counts of a run that are changes. Its other counts say how much was read. */
export const countedKinds = [...movedKinds, 'ineffective', 'unknown', 'missing', 'deferred'];

const outcomes = labelWords<RunOutcome>({ complete: true, partial: true, failed: true, refused: true });
/** The outcomes of requests whose counters begin with 0. Other error statuses are not known beforehand. */
const statuses = ['200', '401', '429', 'no-answer', 'not-sent'] as const;
/** All sets of groups that a run can have. With `users`, a run reads all users, so `edits` is not a group of its own. */
const runGroups = allOf<RunGroup>(['counts', 'edits', 'listings', 'users']).filter(
  (groups) => groups.length > 0 && !(groups.includes('edits') && groups.includes('users')),
);

/** An operation of the client without ids. With ids, the number of labels would have no bound. */
const operationPattern = /^(?:GET|POST|PUT|DELETE) \/v1\/[a-z/{}-]{1,40}$/;

/** All subsets of a list, with the empty one. */
function allOf<T>([first, ...others]: readonly T[]): readonly (readonly T[])[] {
  if (first === undefined) return [[]];
  return allOf(others).flatMap((some) => [some, [first, ...some]]);
}

const groupsLabel = (groups: readonly RunGroup[]) => groups.toSorted().join('+');

function statusOf({ phase, status }: MeteredServiceEvent & { readonly kind: 'request' }): string {
  if (status !== null) return status >= 100 && status <= 599 ? String(status) : 'other';
  return phase === 'not-sent' ? 'not-sent' : 'no-answer';
}

export function createMetrics(options: MetricsOptions): Metrics {
  const meters = createMeters();
  meters.build.set({ version: options.version ?? 'unknown', node: process.version }, 1);
  let knownTeams: readonly string[] = [];
  const scrape = createScrape(meters, options, () => knownTeams);
  return {
    onServiceEvent: (team, event) => {
      if (event.kind === 'throttled') meters.throttled.inc({ team });
      if (event.kind !== 'request') return;
      const operation = operationPattern.test(event.operation) ? event.operation : 'other';
      meters.requests.inc({ team, operation, status: statusOf(event) });
      meters.limiterWait.observe(event.waitedMs / 1_000);
      if (event.phase !== 'not-sent') meters.requestDuration.observe({ operation }, event.durationMs / 1_000);
    },
    onRunEvent: (_team, event) => {
      if (event.kind === 'push') meters.pushWindow.observe(event.windowMs / 1_000);
    },
    onRun: (team, { groups, outcome, counts = {}, durationMs }) => {
      const label = { team, groups: groupsLabel(groups), outcome: knownWord(outcomes, outcome) };
      meters.runs.inc(label);
      if (durationMs !== undefined) meters.runDuration.observe({ team }, durationMs / 1_000);
      for (const kind of countedKinds) {
        const count = counts[kind] ?? 0;
        if (count > 0) meters.changes.inc({ team, kind }, count);
      }
    },
    onQuery: (ms) => meters.query.observe(ms / 1_000),
    onTold: (team, outcome) => meters.notices.inc({ team, outcome }),
    keepTeams: async (teams) => {
      const news = teams.filter((team) => !knownTeams.includes(team));
      knownTeams = teams;
      await forgetOtherTeams(meters, new Set(teams));
      for (const team of news) beginWithZero(meters, team, options.operations ?? []);
    },
    render: async () => {
      await scrape();
      return { contentType: meters.registry.contentType, text: await meters.registry.metrics() };
    },
  };
}

function beginWithZero(meters: Meters, team: string, operations: readonly string[]): void {
  const { runs, runDuration, changes, requests, throttled, notices } = meters;
  throttled.inc({ team }, 0);
  for (const outcome of ['accepted', 'failed']) notices.inc({ team, outcome }, 0);
  runDuration.zero({ team });
  for (const kind of countedKinds) changes.inc({ team, kind }, 0);
  for (const groups of runGroups.map(groupsLabel)) {
    for (const outcome of outcomes) runs.inc({ team, groups, outcome }, 0);
  }
  for (const operation of operations) {
    for (const status of statuses) requests.inc({ team, operation, status }, 0);
  }
}
