import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/daemon/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { parseScrape } from '../support/promql.ts';
import { hasPromtool } from '../support/promtool.ts';
import { type Firing, type Play, play, rules, type World } from './play-alerts.ts';

const isBetween = ({ minute }: World, from: number, to: number) => minute >= from && minute < to;
const lag = 'musterd_nodejs_eventloop_lag_max_seconds';

/** What happens, and what fires then and at no other time: its first and last minute. */
const plays: Readonly<Record<string, Play & { readonly fires: Firing }>> = {
  'no alert while runs complete, despite a restart and one refused request': {
    minutes: 240,
    each: (world) => {
      if (world.minute === 0) world.start('two');
      if (world.minute === 100) world.start('one');
      world.answer(world.minute === 50 ? 401 : 200);
      world.run('complete');
    },
    fires: {},
  },
  'MusterdStale while no run begins': {
    minutes: 100,
    each: (world) => {
      if (!isBetween(world, 30, 90)) world.run('complete');
    },
    fires: { MusterdStale: [[46, 89]] },
  },
  'MusterdAbsent while the daemon is down': {
    minutes: 60,
    each: (world) => {
      if (world.minute === 20) world.stop('one');
      if (world.minute === 40) world.start('one');
      if (!isBetween(world, 20, 40)) world.run('complete');
    },
    fires: { MusterdAbsent: [[25, 39]] },
  },
  'MusterdDatabaseDown while one of two processes cannot reach the database': {
    minutes: 60,
    each: (world) => {
      if (world.minute === 0) world.start('two');
      if (world.minute === 20) world.cutOff.add('two');
      if (world.minute === 33) world.cutOff.delete('two');
      world.run('complete');
    },
    fires: { MusterdDatabaseDown: [[25, 32]] },
  },
  'MusterdRunsFailing while runs fail': {
    minutes: 90,
    each: (world) => world.run(isBetween(world, 30, 75) ? 'failed' : 'complete'),
    fires: { MusterdRunsFailing: [[41, 74]], MusterdStale: [[46, 74]] },
  },
  'MusterdCredentialsRefused while runs fail with 401, even if runs become rare': {
    minutes: 240,
    each: (world) => {
      const isRefused = isBetween(world, 30, 200);
      if (isRefused && ![30, 35, 45, 65, 105, 165].includes(world.minute)) return;
      if (isRefused) world.answer(401);
      world.run(isRefused ? 'failed' : 'complete', ['users', 'listings', 'counts']);
    },
    fires: {
      MusterdCredentialsRefused: [[35, 199]],
      MusterdRunsFailing: [[46, 199]],
      MusterdStale: [[50, 199]],
    },
  },
  'MusterdCredentialsRefused while the service refuses one of two secrets': {
    minutes: 100,
    each: (world) => {
      if (isBetween(world, 30, 61) && world.minute % 5 === 0) world.answer(401);
      world.answer(200);
      world.run('complete');
    },
    fires: { MusterdCredentialsRefused: [[40, 69]] },
  },
  'MusterdBatchWaits while a batch waits, also if it is the first batch': {
    minutes: 90,
    each: (world) => {
      if (world.minute === 20) world.team.held = { limit: 30 };
      if (world.minute === 80) world.team.held = {};
      world.run(world.minute === 20 ? 'refused' : 'complete');
    },
    fires: { MusterdBatchWaits: [[20, 79]] },
  },
  'MusterdElsewhere while the mirror has an unknown address, but not in a declared copy': {
    minutes: 90,
    each: (world) => {
      if (world.minute === 0) world.start('two');
      if (world.minute === 0) world.places.set('one', 'unrecorded');
      if (world.minute === 1) world.places.delete('one');
      if (world.minute === 20) world.places.set('two', 'elsewhere');
      if (world.minute === 40) world.places.set('two', 'copy');
      if (world.minute === 60) world.places.delete('two');
      world.run('complete');
    },
    fires: { MusterdElsewhere: [[21, 39]] },
  },
  'MusterdRunsPartial while only runs of the group "listings" stay incomplete': {
    minutes: 250,
    each: (world) =>
      world.run(isBetween(world, 30, 240) && world.due().includes('listings') ? 'partial' : 'complete'),
    fires: { MusterdRunsPartial: [[136, 239]], MusterdStale: [[186, 239]] },
  },
  'MusterdRunsPartial while no run has been complete yet': {
    minutes: 60,
    each: (world) => world.run(world.minute < 45 ? 'partial' : 'complete'),
    fires: { MusterdRunsPartial: [[15, 59]], MusterdStale: [[21, 44]] },
  },
  'MusterdHeldGrowing for fields held within a day, but not for fields that a person held or rejected': {
    minutes: 2_000,
    everyMinutes: 5,
    each: (world) => {
      if (world.minute === 0) world.team.held = { conflict: 20 };
      if (world.minute === 300) world.team.held = { refused: 20 };
      if (world.minute === 600) world.team.held = { refused: 20, asked: 40, 'limit, rejected': 30 };
      if (world.minute === 900) world.cutOff.add('one');
      if (world.minute === 905) world.cutOff.delete('one');
      if (world.minute === 1_500) world.team.held = { refused: 20, conflict: 11, 'limit, rejected': 30 };
      if (world.minute === 1_800) world.team.held = { refused: 20, conflict: 5, 'limit, rejected': 30 };
      world.run('complete');
    },
    fires: { MusterdHeldGrowing: [[1_560, 1_795]] },
  },
  'MusterdHeldGrowing for the first held fields of a team': {
    minutes: 200,
    each: (world) => {
      if (world.minute === 60) world.team.held = { brake: 11 };
      if (world.minute === 180) world.team.held = {};
      world.run('complete');
    },
    fires: { MusterdHeldGrowing: [[120, 179]] },
  },
  'MusterdThrottled for repeated pauses, but not for pauses in a single minute': {
    minutes: 160,
    each: (world) => {
      if (isBetween(world, 30, 70)) world.throttle(1);
      if (world.minute === 120) world.throttle(12);
      world.run('complete');
    },
    fires: { MusterdThrottled: [[48, 80]] },
  },
  'MusterdStalls while a process stalls repeatedly, but not for a single stall': {
    minutes: 90,
    each: (world) => {
      world.overrides.set(lag, isBetween(world, 20, 50) || world.minute === 70 ? 2.5 : 0.02);
      world.run('complete');
    },
    fires: { MusterdStalls: [[35, 49]] },
  },
};

describe('the alerts, in simulated hours of a daemon', () => {
  it.each(Object.entries(plays))('fires exactly the expected alerts: %s', async (_, { fires, ...played }) => {
    const { firing, askPromtool } = await play(played);
    expect(firing).toEqual(fires);
    // Prometheus itself, where it is at hand, has the same to say of the same series.
    expect(hasPromtool ? askPromtool() : '').toBe('');
  });

  it('fires each alert in at least one scenario', () => {
    const fired = new Set(Object.values(plays).flatMap(({ fires }) => Object.keys(fires)));
    expect([...fired].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });
});

describe('the metric of event loop lag', () => {
  it('reports a single stall of 1.1 seconds as the maximum lag', async () => {
    const metrics = createMetrics({
      standings: { read: () => Promise.resolve({ standings: [], current: true }) },
    });
    // Measures the same in the same way, and tells when there is something to see.
    using own = monitorEventLoopDelay({ resolution: 10 });
    own.enable();
    await eventually('it is measured', () => own.count > 5);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
    await eventually('the stall is over', () => own.max > 1e9);
    const samples = parseScrape((await metrics.render()).text);
    expect(samples.find(({ name }) => name === lag)?.value).toBeGreaterThan(1);
  });
});
