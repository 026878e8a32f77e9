import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../src/daemon/metrics.ts';
import { ROOT } from '../support/checkout.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const read = (name: string) => readFileSync(join(ROOT, 'config', name), 'utf8');
const dashboardText = read('grafana-dashboard.json');
const dashboard = JSON.parse(dashboardText) as { readonly panels: readonly Panel[] };
const rules = (parse(read('prometheus-alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const questions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }): [string, string] => [title, expr]),
);

/** Measured by every Node process on Linux, and of no use on a board about teams. */
const leftOut = [
  'musterd_nodejs_active_handles',
  'musterd_nodejs_active_requests',
  'musterd_nodejs_active_resources',
  'musterd_nodejs_eventloop_lag_mean_seconds',
  'musterd_nodejs_eventloop_lag_min_seconds',
  'musterd_nodejs_eventloop_lag_p50_seconds',
  'musterd_nodejs_eventloop_lag_p90_seconds',
  'musterd_nodejs_eventloop_lag_seconds',
  'musterd_nodejs_eventloop_lag_stddev_seconds',
  'musterd_nodejs_external_memory_bytes',
  'musterd_nodejs_gc_duration_seconds',
  'musterd_nodejs_heap_size_total_bytes',
  'musterd_nodejs_heap_space_size_available_bytes',
  'musterd_nodejs_heap_space_size_total_bytes',
  'musterd_nodejs_heap_space_size_used_bytes',
  'musterd_nodejs_version_info',
  'musterd_process_cpu_system_seconds_total',
  'musterd_process_cpu_user_seconds_total',
  'musterd_process_heap_bytes',
  'musterd_process_max_fds',
  'musterd_process_virtual_memory_bytes',
];

/** The type and the labels of each metric, as the daemon gives them. */
const known = new Map<string, string>();

beforeAll(async () => {
  const metrics = createMetrics({
    standings: { read: () => Promise.resolve({ standings: [], current: true }) },
  });
  const { text } = await metrics.render();
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) known.set(name, type);
});

/** The metrics that an expression asks for; of a histogram, by its own name. */
function metricsOf(expr: string): readonly string[] {
  return [...expr.matchAll(/musterd_[a-z0-9_]+/g)].map(([name]) => {
    const whole = name.replace(/_(bucket|sum|count)$/, '');
    return known.get(whole) === 'histogram' && whole !== name ? whole : name;
  });
}

function brackets(expr: string): string {
  const open: string[] = [];
  const pairs: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
  for (const sign of expr.replaceAll(/"[^"]*"/g, '')) {
    if (Object.values(pairs).includes(sign)) open.push(sign);
    else if (pairs[sign] !== undefined && open.pop() !== pairs[sign]) return `stray ${sign}`;
  }
  return open.join('');
}

const onLinux = describe.skipIf(process.platform !== 'linux');

const asked = [...questions, ...rules.map(({ alert, expr }): [string, string] => [alert, expr])];

onLinux('the dashboard and the alerts', () => {
  it.each(asked)('"%s" queries only metrics that the daemon exports: %s', (_title, expr) => {
    const names = metricsOf(expr);
    expect(names).not.toEqual([]);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
    expect(brackets(expr)).toBe('');
    // A counter or a histogram says nothing as it stands, and a gauge has no rate.
    for (const [, inside = '', name = ''] of expr.matchAll(/(rate\(|increase\()?(musterd_[a-z0-9_]+)/g)) {
      const type = known.get(name) ?? 'histogram';
      expect([name, inside !== '']).toEqual([name, type !== 'gauge']);
    }
  });
});

onLinux('the Grafana dashboard', () => {
  it('shows every metric of the daemon except those listed as left out', () => {
    const shown = new Set(questions.flatMap(([, expr]) => metricsOf(expr)));
    expect([...known.keys()].filter((name) => !shown.has(name)).toSorted()).toEqual(leftOut);
  });

  it('the dashboard describes each panel, and no two panels overlap', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const panel of panels) {
      expect(panel.title).not.toBe('');
      if (panel.type !== 'row') expect(panel.description, panel.title).toMatch(/\.$/);
    }
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it('queries the selected data source, and contains no fixed team', () => {
    expect(dashboardText).toContain('label_values(musterd_fresh, team)');
    const sources = [...dashboardText.matchAll(/"uid": "([^"]*)"/g)].map(([, uid]) => uid);
    // The board's own, and a variable everywhere else.
    expect(new Set(sources)).toEqual(new Set(['$' + '{datasource}', 'musterd']));
    for (const [, expr] of questions) expect(expr).not.toMatch(/team="/);
  });
});

describe('config/prometheus-alerts.yaml', () => {
  it('gives each alert a unique name, a severity, a summary and a description', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(labels['severity'], alert).toMatch(/^(critical|warning)$/);
      expect(annotations['summary'], alert).toMatch(/\.$/);
      expect(annotations['description'], alert).toMatch(/\.$/);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });
});
