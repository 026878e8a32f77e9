/**
 * What the daemon measures, for Prometheus. What happens in this process is counted as it happens; how the
 * teams stand is read from the database at each scrape, so that all processes on it say the same. Labels
 * hold names of teams and words of a short list, and nothing of any person.
 */
import { type Clock, systemClock } from '../clock.ts';
import type { TeamFreshness } from '../model/freshness.ts';
import type { RunGroup, Standing } from '../model/run-group.ts';
import { createMeters, forgetOtherTeams, type Meters } from './meters.ts';
import { createStandings } from './standings.ts';
import { within } from './within.ts';

/** What is needed of the client's events. */
export type MeteredServiceEvent =
  | {
      readonly kind: 'request';
      readonly operation: string;
      readonly phase: 'not-sent' | 'sent' | 'answered';
      readonly status: number | null;
      readonly durationMs: number;
      readonly waitedMs: number;
    }
  | { readonly kind: 'throttled' }
  | { readonly kind: 'retry' }
  | { readonly kind: 'warning' };

/** What is needed of a run's events. */
export type MeteredRunEvent =
  | { readonly kind: 'push'; readonly windowMs: number }
  | { readonly kind: 'step' | 'progress' | 'refused' | 'partial' | 'warning' };

export interface MeteredRun {
  readonly groups: readonly RunGroup[];
  readonly outcome: string;
  /** By kind; a run that ended early has none. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Left out where nobody measured it. */
  readonly durationMs?: number;
}

export interface MetricsOptions {
  readonly readStandings: () => Promise<readonly Standing[]>;
  /** Judges what was read: `fresh` is left out without it. */
  readonly judge?: (standings: readonly Standing[]) => readonly TeamFreshness[];
  readonly readHeld?: () => Promise<
    readonly { readonly team: string; readonly reason: string; readonly count: number }[]
  >;
  readonly readRate?: () => Promise<readonly { readonly team: string; readonly tokens: number }[]>;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
  readonly version?: string;
  /** How long a scrape waits for the database. */
  readonly patienceMs?: number;
}

/** The listeners never throw. */
export interface Metrics {
  onServiceEvent(team: string, event: MeteredServiceEvent): void;
  onRunEvent(team: string, event: MeteredRunEvent): void;
  onRun(team: string, run: MeteredRun): void;
  onQuery(ms: number): void;
  /** The teams there are now: what was counted of others is forgotten. */
  keepTeams(teams: readonly string[]): Promise<void>;
  /** Answers also while the database is away. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** What of a run's counts is a change; the others say how much was read. */
export const changeKinds = [
  'adopted',
  'returned',
  'pulled',
  'settled',
  'pushed',
  'ineffective',
  'unknown',
  'held',
  'missing',
  'gone',
  'deferred',
  'tags_added',
  'tags_changed',
  'tags_gone',
  'contact_fields_added',
  'contact_fields_changed',
  'contact_fields_gone',
] as const;

const outcomes: readonly string[] = ['complete', 'partial', 'failed', 'refused', 'busy'];
const reasons: readonly string[] = [
  'conflict',
  'refused',
  'ineffective',
  'unsupported',
  'gone',
  'brake',
  'asked',
  'rejected',
];
const oneOf = (words: readonly string[], word: string) => (words.includes(word) ? word : 'other');

/** An operation without ids, as the client names it; anything else would be a label without bounds. */
const operationPattern = /^(?:GET|POST|PUT|DELETE) \/v1\/[a-z/{}-]{1,40}$/;

function statusOf({ phase, status }: MeteredServiceEvent & { readonly kind: 'request' }): string {
  if (status !== null) return status >= 100 && status <= 599 ? String(status) : 'other';
  return phase === 'not-sent' ? 'not-sent' : 'no-answer';
}

export function createMetrics(options: MetricsOptions): Metrics {
  const meters = createMeters();
  meters.build.set({ version: options.version ?? 'unknown', node: process.version }, 1);
  const refresh = createRefresh(meters, options);
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
      const label = { team, groups: groups.toSorted().join('+'), outcome: oneOf(outcomes, outcome) };
      meters.runs.inc(label);
      if (durationMs !== undefined) meters.runDuration.observe({ team }, durationMs / 1_000);
      for (const kind of changeKinds) {
        const count = counts[kind] ?? 0;
        if (count > 0) meters.changes.inc({ team, kind }, count);
      }
    },
    onQuery: (ms) => meters.query.observe(ms / 1_000),
    keepTeams: async (teams) => {
      await forgetOtherTeams(meters, new Set(teams));
    },
    render: async () => {
      await refresh();
      return { contentType: meters.registry.contentType, text: await meters.registry.metrics() };
    },
  };
}

/**
 * Brings what the database knows up to date. Where it does not answer, times stay as they were read last,
 * `fresh` follows from them and from the time since, and what else it alone knows is left out.
 */
function createRefresh(meters: Meters, options: MetricsOptions): () => Promise<void> {
  const { readStandings, readHeld, readRate, judge, clock = systemClock, patienceMs = 3_000 } = options;
  const memory = createStandings(readStandings, clock, patienceMs);
  const ask = async <T>(read: (() => Promise<readonly T[]>) | undefined): Promise<readonly T[] | null> =>
    read === undefined ? [] : await within(patienceMs, read()).catch(() => null);
  return async () => {
    const [{ standings, current }, held, rates] = await Promise.all([
      memory.read(),
      ask(readHeld),
      ask(readRate),
    ]);
    meters.databaseUp.set(current && held !== null && rates !== null ? 1 : 0);
    showStandings(meters, standings);
    meters.fresh.reset();
    for (const { team, fresh } of judge?.(standings) ?? []) meters.fresh.set({ team }, fresh ? 1 : 0);
    meters.held.reset();
    for (const { team, reason, count } of held ?? []) {
      meters.held.inc({ team, reason: oneOf(reasons, reason) }, count);
    }
    meters.tokens.reset();
    for (const { team, tokens } of rates ?? []) meters.tokens.set({ team }, tokens);
  };
}

function showStandings(meters: Meters, standings: readonly Standing[]): void {
  const { lastAttempt, lastSuccess, failures } = meters;
  for (const gauge of [lastAttempt, lastSuccess, failures]) gauge.reset();
  for (const { team, group, startedAt, completeAt, failures: inARow } of standings) {
    if (startedAt !== null) lastAttempt.set({ team, group }, startedAt.getTime() / 1_000);
    if (completeAt !== null) lastSuccess.set({ team, group }, completeAt.getTime() / 1_000);
    failures.set({ team, group }, inARow);
  }
}
