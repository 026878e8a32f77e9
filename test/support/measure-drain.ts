/** How much of the rate limit a run uses while it sends many edits, by what arrives at an emulated service. */
import { createStage } from '../system/stage.ts';

export interface DrainOptions {
  readonly users: number;
  readonly latencyMs: number;
  readonly perMinute: number;
}

export interface Drain {
  /** Requests from the first update on. */
  readonly requests: number;
  readonly updates: number;
  /** Of what the limit lets through from the first update to the last, as a part of 1. */
  readonly use: number;
  /** The most that arrived in any 60 s. */
  readonly mostInAMinute: number;
}

/** The most of these times, in order, that lie within one minute. */
function mostInAMinute(times: readonly number[]): number {
  let from = 0;
  return times.reduce((most, at, index) => {
    while ((times[from] ?? at) <= at - 60_000) from += 1;
    return Math.max(most, index - from + 1);
  }, 0);
}

export async function measureDrain({ users, latencyMs, perMinute }: DrainOptions): Promise<Drain> {
  const stage = await createStage({
    emulator: { users, tags: 0, fields: 0 },
    config: { guard: { maxRows: users, maxShare: 1, maxSharePerDay: 1 } },
  });
  try {
    for (const { id, email } of stage.emulator.team.users())
      if (email === null) stage.emulator.team.editUser(id, { email: `user${id}@example.com` });
    await stage.run();
    // Never everybody: that is what the guard always stops.
    await stage.sql(
      `update mirror.users set email = 'e' || id || '@new.example' where id > (select min(id) from mirror.users)`,
    );
    stage.emulator.clearRequests();
    stage.emulator.addFault({ kind: 'delay', ms: latencyMs, path: '/v1/users/*', times: 'always' });
    const report = await stage.run({ rate: { perMinute, share: 1 } });
    if (report.counts.pushed !== users - 1) throw new Error(`${report.counts.pushed} users were pushed`);
    const requests = stage.emulator.requests.filter(({ path }) => path.startsWith('/v1/users/'));
    const arrivals = requests.map(({ atMs }) => atMs);
    const paths = requests.map(({ path }) => path);
    const first = Math.max(0, paths.indexOf('/v1/users/update') - 1);
    const steady = arrivals.slice(first + 25);
    const spanMs = (steady.at(-1) ?? 0) - (steady[0] ?? 0);
    return {
      requests: arrivals.length - first,
      updates: paths.filter((path) => path === '/v1/users/update').length,
      use: ((steady.length - 1) * 60_000) / spanMs / perMinute,
      mostInAMinute: mostInAMinute(arrivals),
    };
  } finally {
    await stage.close();
  }
}
