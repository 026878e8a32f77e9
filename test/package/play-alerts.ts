/** Plays hours of daemons: what they measure is scraped, and the alerts are evaluated on it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { createMetrics, type Metrics } from '../../src/daemon/metrics.ts';
import { createStandings } from '../../src/daemon/group-status.ts';
import type { PlaceVerdict } from '../../src/model/place.ts';
import { judgeFreshness } from '../../src/model/freshness.ts';
import {
  type RunGroup,
  type RunOutcome,
  type GroupStatus,
  scheduledGroups,
} from '../../src/model/run-group.ts';
import { ROOT, temporaryFolder } from '../support/checkout.ts';
import { compile, durationMs, type Labels, parseScrape, type Series } from '../support/promql.ts';
import { promtoolTest } from '../support/promtool.ts';

const minuteMs = 60_000;
const gaps = { users: 5, listings: 60, counts: 15 } as const;
const path = join(ROOT, 'config/prometheus-alerts.yaml');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
}

export const rules = (parse(readFileSync(path, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

/** One team, as its database knows it. */
interface TeamState {
  standings: GroupStatus[];
  held: Readonly<Record<string, number>>;
}

/** The team `harbour`, and the processes that look after it. */
export interface World {
  readonly minute: number;
  readonly team: TeamState;
  /** Where each process is, if not at home. */
  readonly places: Map<string, PlaceVerdict>;
  /** Processes that do not reach the database. */
  readonly cutOff: Set<string>;
  start(instance: string): void;
  stop(instance: string): void;
  /** A run of the first process: of whatever is due, and of nothing where nothing is. */
  run(outcome: RunOutcome, groups?: readonly RunGroup[]): void;
  /** What is due by the schedule. */
  due(): readonly RunGroup[];
  /** An answer of the service, to the first process. */
  answer(status: number): void;
  throttle(times: number): void;
  /** Stands for what else a scrape says, such as the process's own lag. */
  readonly overrides: Map<string, number>;
}

function noteRun(standing: GroupStatus, outcome: RunOutcome, nowMs: number): GroupStatus {
  const isComplete = outcome === 'complete';
  return {
    ...standing,
    startedAt: new Date(nowMs),
    outcome,
    failures: outcome === 'failed' ? standing.failures + 1 : 0,
    completeAt: isComplete ? new Date(nowMs + 1_000) : standing.completeAt,
  };
}

function createWorld(clock: { nowMs: number }) {
  const processes = new Map<string, Metrics>();
  const never = { startedAt: null, outcome: null, failures: 0, completeAt: null };
  const team: TeamState = {
    standings: scheduledGroups.map((group) => ({
      team: 'harbour',
      group,
      knownForMs: 0,
      completeForMs: null,
      ...never,
    })),
    held: {},
  };
  const asked = async <T>(instance: string, answer: () => readonly T[]) => {
    if (world.cutOff.has(instance)) throw new Error('the database is away');
    return answer();
  };
  const world: World & { minute: number } = {
    minute: 0,
    team,
    places: new Map(),
    cutOff: new Set(),
    overrides: new Map([['musterd_nodejs_eventloop_lag_max_seconds', 0.02]]),
    start: (instance) => {
      const startedMs = clock.nowMs;
      const metrics = createMetrics({
        standings: createStandings(
          () =>
            asked(instance, () =>
              team.standings.map((one) => ({
                ...one,
                knownForMs: clock.nowMs,
                completeForMs: one.completeAt === null ? null : clock.nowMs - one.completeAt.getTime(),
              })),
            ),
          { monotonicMs: () => clock.nowMs },
        ),
        judge: (read) => {
          const intervals = Object.fromEntries(
            Object.entries(gaps).map(([name, gap]) => [name, gap * minuteMs]),
          );
          return judgeFreshness(read, new Map([['harbour', intervals]]), clock.nowMs - startedMs);
        },
        readHeld: () =>
          asked(instance, () =>
            Object.entries(team.held).map(([word, count]) => {
              const [reason = '', state = 'held'] = word.split(', ');
              return { team: 'harbour', state, reason, count };
            }),
          ),
        readPlace: async () => {
          if (world.cutOff.has(instance)) throw new Error('the database is away');
          return Promise.resolve(world.places.get(instance) ?? 'here');
        },
        readRate: () => asked(instance, () => [{ team: 'harbour', tokens: 10 }]),
        operations: ['GET /v1/team', 'GET /v1/users/get'],
        version: '1.0.0',
      });
      void metrics.keepTeams(['harbour']);
      processes.set(instance, metrics);
    },
    stop: (instance) => processes.delete(instance),
    due: () => scheduledGroups.filter((group) => world.minute % gaps[group] === 0),
    run: (outcome, groups = world.due()) => {
      if (groups.length === 0) return;
      team.standings = team.standings.map((one) =>
        groups.includes(one.group) ? noteRun(one, outcome, clock.nowMs) : one,
      );
      processes.get('one')?.onRun('harbour', { groups, outcome, durationMs: 1_000 });
    },
    answer: (status) => {
      processes.get('one')?.onServiceEvent('harbour', {
        kind: 'request',
        operation: 'GET /v1/team',
        phase: 'answered',
        status,
        durationMs: 20,
        waitedMs: 0,
      });
    },
    throttle: (times) => {
      for (let time = 0; time < times; time += 1)
        processes.get('one')?.onServiceEvent('harbour', { kind: 'throttled' });
    },
  };
  return { world, processes };
}

/** Whatever the alerts ask for, as Prometheus would have it. */
function createStore() {
  const wanted = new Set(rules.flatMap(({ expr }) => expr.match(/musterd_[a-z0-9_]+/g) ?? []));
  const all = new Map<string, Series>();
  const list: Series[] = [];
  return {
    series: list as readonly Series[],
    /** @param texts by instance; what was there at the last scrape and is not now has ended */
    add: (atMs: number, texts: ReadonlyMap<string, string>, overrides: ReadonlyMap<string, number>) => {
      const seen = new Set<string>();
      for (const [instance, text] of texts) {
        for (const { name, labels: own, value } of parseScrape(text)) {
          if (!wanted.has(name)) continue;
          const labels: Labels = { ...own, instance, job: 'musterd' };
          const key = seriesText(name, labels);
          seen.add(key);
          const series: Series = all.get(key) ?? { name, labels, points: [] };
          if (!all.has(key)) list.push(series);
          all.set(key, series);
          series.points.push([atMs, overrides.get(name) ?? value]);
        }
      }
      for (const [key, { points }] of all) {
        if (!seen.has(key) && points.at(-1)?.[1] !== null) points.push([atMs, null]);
      }
    },
  };
}

function seriesText(name: string, labels: Labels): string {
  const inside = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${inside.join(',')}}`;
}

/** First and last minute in which the alert fires, time after time. */
export type Firing = Readonly<Record<string, readonly (readonly [from: number, to: number])[]>>;

export interface Play {
  readonly minutes: number;
  /** Between two scrapes. */
  readonly everyMinutes?: number;
  /** What happens in each minute of a scrape, right before it. */
  readonly each: (world: World) => void;
}

/** @returns what fires, by our own evaluation, and how promtool is asked for the same */
export async function play({ minutes, everyMinutes = 1, each }: Play) {
  const clock = { nowMs: 0 };
  const { world, processes } = createWorld(clock);
  world.start('one');
  const store = createStore();
  const asked = rules.map(({ alert, expr, for: wait = '0s' }) => ({
    alert,
    ask: compile(expr, store.series),
    waitMs: durationMs(wait),
  }));
  const activeSince = new Map<string, number>();
  const firingAt: ReadonlySet<string>[] = [];
  for (let minute = 0; minute <= minutes; minute += everyMinutes) {
    world.minute = minute;
    clock.nowMs = minute * minuteMs;
    each(world);
    const texts = new Map<string, string>();
    for (const [instance, metrics] of processes) texts.set(instance, (await metrics.render()).text);
    store.add(clock.nowMs, texts, world.overrides);
    const firing = new Set<string>();
    for (const { alert, ask, waitMs } of asked) {
      const active = new Set(ask(clock.nowMs).map(({ labels }) => `${alert} ${JSON.stringify(labels)}`));
      for (const key of activeSince.keys())
        if (key.startsWith(`${alert} `) && !active.has(key)) activeSince.delete(key);
      for (const key of active) {
        const since = activeSince.get(key) ?? clock.nowMs;
        activeSince.set(key, since);
        if (clock.nowMs - since >= waitMs) firing.add(alert);
      }
    }
    firingAt.push(firing);
  }
  const stretches = stretchesOf(firingAt, everyMinutes);
  return { firing: stretches, askPromtool: () => askPromtool(store.series, firingAt, everyMinutes) };
}

function stretchesOf(firingAt: readonly ReadonlySet<string>[], everyMinutes: number): Firing {
  const found: Record<string, [number, number][]> = {};
  for (const [at, firing] of firingAt.entries()) {
    for (const alert of firing) {
      const stretches = found[alert] ?? [];
      found[alert] = stretches;
      const last = stretches.at(-1);
      const minute = at * everyMinutes;
      if (last !== undefined && last[1] === minute - everyMinutes) last[1] = minute;
      else stretches.push([minute, minute]);
    }
  }
  return found;
}

/** The same series and the same rules, in Prometheus's own hands. @returns what it has to say against it */
function askPromtool(
  series: readonly Series[],
  firingAt: readonly ReadonlySet<string>[],
  everyMinutes: number,
): string {
  const everyMs = everyMinutes * minuteMs;
  const written = series.map(({ name, labels, points }) => {
    const byAt = new Map(points);
    const values = firingAt.map((_, at) => {
      const value = byAt.get(at * everyMs);
      return value === undefined ? '_' : value === null ? 'stale' : String(value);
    });
    return { series: seriesText(name, labels), values: values.join(' ') };
  });
  const questions = firingAt.map((firing, at) => ({
    expr: 'count by (alertname) (count by (alertname, team) (ALERTS{alertstate="firing"}) > 0) * 0 + 1',
    eval_time: `${at * everyMinutes}m`,
    exp_samples: [...firing].map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
  }));
  const interval = `${everyMinutes}m`;
  const tests = [{ interval, input_series: written, promql_expr_test: questions }];
  using folder = temporaryFolder();
  const file = join(folder.path, 'tests.yaml');
  writeFileSync(file, stringify({ rule_files: [path], evaluation_interval: interval, tests }));
  return promtoolTest(file);
}
