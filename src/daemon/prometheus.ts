/** Every metric of musterd: name, labels, help text. No label holds personal data. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export const prefix = 'musterd_';

const seconds = (...bounds: readonly number[]) => [...bounds];
/** The bounds of the buckets, in seconds: from a lookup by primary key to a statement that times out. */
const briefly = seconds(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 90);
const waits = seconds(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900);
const runs = seconds(0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600);

/** Default metrics that are removed: sums over the label `type`, with names that end in `_total` like counters. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Gauges show the current state, which is read at each scrape. */
function createGauges(registry: Registry) {
  const gauge = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Gauge({ name: `${prefix}${name}`, help, labelNames, registers: [registry] });
  return {
    lastAttempt: gauge(
      'last_attempt_timestamp_seconds',
      'When the last run of this group began, by any process.',
      'team',
      'group',
    ),
    lastSuccess: gauge(
      'last_success_timestamp_seconds',
      'When the last complete run of this group ended, by any process.',
      'team',
      'group',
    ),
    failures: gauge('failures_in_a_row', 'Runs of this group in a row that failed.', 'team', 'group'),
    fresh: gauge('fresh', '1: every group had a complete run within three intervals. 0: stale.', 'team'),
    held: gauge(
      'held_fields',
      'Held fields, in batches and alone; all but those asked for or rejected need a decision.',
      'team',
      'state',
      'reason',
    ),
    tokens: gauge('rate_tokens_left', 'Requests that may leave at once, all processes together.', 'team'),
    place: gauge('place', '1: this is the state of the mirror where it is now.', 'state'),
    databaseUp: gauge('database_up', '1: the database answered this scrape.'),
    build: gauge('build_info', 'Always 1.', 'version', 'node'),
  };
}

export function createMeters() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Counter({ name: `${prefix}${name}`, help, labelNames, registers });
  const histogram = <T extends string>(name: string, help: string, buckets: number[], ...labelNames: T[]) =>
    new Histogram({ name: `${prefix}${name}`, help, buckets, labelNames, registers });
  collectDefaultMetrics({ register: registry, prefix });
  for (const name of misnamed) registry.removeSingleMetric(`${prefix}${name}`);
  return {
    registry,
    runs: counter('runs_total', 'Runs that ended, by what they did and how.', 'team', 'groups', 'outcome'),
    runDuration: histogram('run_duration_seconds', 'How long runs took.', runs, 'team'),
    changes: counter('changes_total', 'Changes made by runs, by kind.', 'team', 'kind'),
    requests: counter(
      'requests_total',
      'Requests to the service, by status; not-sent and no-answer where there is none.',
      'team',
      'operation',
      'status',
    ),
    throttled: counter('throttled_total', 'Pauses after the service said 429.', 'team'),
    notices: counter('notices_total', 'Posts to notify.url, by what became of them.', 'team', 'outcome'),
    limiterWait: histogram('limiter_wait_seconds', 'How long calls waited for the rate limit.', waits),
    requestDuration: histogram('request_duration_seconds', 'How long requests took.', waits, 'operation'),
    pushWindow: histogram(
      'push_window_seconds',
      'From reading users again to the answer of their update. In that time an edit elsewhere could be overwritten.',
      waits,
    ),
    query: histogram('database_seconds', 'How long statements took.', briefly),
    ...createGauges(registry),
  };
}

export type Meters = ReturnType<typeof createMeters>;

/** Removes teams that are not in `teams` from the metrics that this process counts by team. */
export function forgetOtherTeams(meters: Meters, teams: ReadonlySet<string>): Promise<unknown> {
  const { runs: ended, runDuration, changes, requests, throttled, notices } = meters;
  const keep = async <T extends string>(metric: {
    get(): Promise<{ values: { labels: Partial<Record<T, string | number>> }[] }>;
    remove(labels: Partial<Record<T, string | number>>): void;
  }) => {
    const { values } = await metric.get();
    for (const { labels } of values) {
      const team: unknown = Reflect.get(labels, 'team');
      if (typeof team === 'string' && !teams.has(team)) metric.remove(withoutBucket(labels));
    }
  };
  return Promise.all([
    keep(ended),
    keep(runDuration),
    keep(changes),
    keep(requests),
    keep(throttled),
    keep(notices),
  ]);
}

/** Drops the label that a histogram adds for its bucket, because it is not a label of the metric. */
function withoutBucket<L extends object>(labels: L): L {
  const own = { ...labels };
  Reflect.deleteProperty(own, 'le');
  return own;
}
