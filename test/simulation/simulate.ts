/** One seed: some minutes in which things go wrong, then calm, then runs until two in a row change nothing. */
import { createHash } from 'node:crypto';
import { createTeams } from '../../src/emulator/create-teams.ts';
import { createInvariants, Violation } from './invariants.ts';
import { createPeople } from './people.ts';
import { drawPlan } from './plan.ts';
import { createService, type FaultName, faultNames } from './service.ts';
import { createProcess, type Process, startMs } from './world.ts';
import { databaseUrl, type prepare } from './ground.ts';
import type { RunGroup } from '../../src/model/run-group.ts';

export interface Played {
  readonly seed: number;
  /** The invariant that was broken, in words; `undefined`: none. */
  readonly violation: string | undefined;
  /** Of all that happened. */
  readonly digest: string;
  readonly lines: readonly string[];
  readonly counts: Readonly<Record<'events' | 'runs' | 'requests' | 'pushes' | 'crashes' | 'edits', number>>;
  readonly checked: ReadonlyMap<string, number>;
}

type Ground = Awaited<ReturnType<typeof prepare>>;

/** No more runs than this until nothing moves any more. */
const mostCalmRuns = 14;
const groupChoices: readonly (readonly RunGroup[])[] = [
  ['users', 'listings', 'counts'],
  ['users'],
  ['users'],
  ['edits'],
  ['edits'],
  ['listings', 'counts'],
];

export async function simulate(ground: Ground, seed: number, off: ReadonlySet<string>): Promise<Played> {
  const { world, postgres } = ground.begin(seed);
  const { createDatabase } = await import('../../src/mirror/db/database.ts');
  const { runReconcile } = await import('../../src/runs/reconcile-team.ts');
  const { configSchema } = await import('../../src/config/config.ts');
  const { createLog } = await import('../../src/log.ts');
  const { MusterdError } = await import('../../src/errors.ts');
  const plan = drawPlan(world.random('plan'), off);
  const [team] = createTeams({ users: plan.users, tags: 4, fields: 2, apiKey: 'key', seed });
  if (team === undefined) throw new Error('there is no team');
  const service = createService(world, team, plan.variants);
  const people = createPeople(world, postgres, service, plan);
  const invariants = createInvariants(world, postgres, service, people, plan);
  const config = configSchema.parse({
    service: { baseUrl: 'https://service.example.net', apiKey: 'key' },
    database: { url: databaseUrl, migrate: false },
    policy: plan.policy,
    push: { batchSize: plan.batchSize, approve: plan.approve, fourEyes: plan.fourEyes },
    guard: { maxRows: plan.maxRows },
  });
  const log = createLog({ level: 'silent' });
  const random = world.random('events');
  const endOfTroubleMs = startMs + plan.troubleMs;
  const isCalm = () => world.now() > endOfTroubleMs;
  let [runs, crashes] = [0, 0];
  let broken: unknown;
  /** Whom the last push or edit was about. */
  let hot: number | undefined;

  const possible = faultNames.filter((name) => plan.can(name));
  service.faultOf = (sent): FaultName | undefined => {
    const [item] = sent.body.users ?? [];
    if (item !== undefined) hot = Number(item['id']);
    const rate = sent.isWrite ? 3 * plan.faultRate : plan.faultRate;
    if (isCalm() || possible.length === 0 || random.fraction() >= rate) return undefined;
    const telling = possible.filter(
      (name) => name === 'late' || name === 'hang after' || name === 'lost after',
    );
    return random.pick(sent.isWrite && telling.length > 0 && random.between(0, 1) === 0 ? telling : possible);
  };

  /** An I/O event of a process: it may be its last, it may have to wait, or somebody does something right now. */
  function befall(by: Process, what: string): 'send' | 'drop' | 'send and die' {
    if (isCalm()) return 'send';
    if (plan.can('aimed edit') && random.fraction() < 0.012) {
      world.trace(`(aimed at ${what.slice(0, 60)})`);
      people.act(random.between(0, 2) > 0 ? hot : undefined);
    }
    if (plan.can('clock') && random.fraction() < 0.0005) by.skewMs += random.between(-40_000, 40_000);
    if (plan.can('pause') && random.fraction() < 0.001) {
      const ms = random.between(3_000, 40_000);
      world.trace(`${by.name} is paused for ${ms} ms`);
      world.pause(by, ms);
    }
    if (!plan.can('crash') || random.fraction() >= 0.002) return 'send';
    crashes += 1;
    world.trace(`${by.name} dies at ${what.slice(0, 80)}`);
    return random.between(0, 1) === 0 ? 'drop' : 'send and die';
  }
  postgres.onSend = befall;
  service.onDispatch = (by, isWrite, ids) => {
    const how = befall(by, isWrite ? 'a push' : 'a read');
    if (how !== 'send') world.kill(by);
    if (!isWrite || isCalm()) return how;
    const [user] = ids;
    if (plan.can('pause') && random.fraction() < 0.05) {
      world.pause(by, random.between(3_000, 12_000));
      world.trace(`${by.name} is paused right before the first byte`);
      const rivalMs = Math.max(0, by.pausedUntilMs - world.now() - 5);
      if (plan.can('aimed edit') && user !== undefined) world.after(rivalMs, () => people.rival(user), null);
    } else if (plan.can('aimed edit') && user !== undefined && random.fraction() < 0.03) people.rival(user);
    return how;
  };

  async function one(process: Process, groups: readonly RunGroup[]) {
    const db = createDatabase({ url: databaseUrl });
    runs += 1;
    try {
      const report = await runReconcile(db, config, 'reconcile', {
        log,
        groups,
        connections: service.connections,
      });
      world.trace(
        `${process.name} ran ${groups.join('+')}: ${report.outcome} ${JSON.stringify(report.counts)} ${report.reasons.join('; ').slice(0, 200)}`,
      );
      return report.outcome;
    } catch (error) {
      const isExpected = error instanceof MusterdError;
      world.trace(
        `${process.name} ran ${groups.join('+')}: ${isExpected ? error.code : ''} ${(error as Error).message.slice(0, 300)}`,
      );
      if (error instanceof Violation) throw error;
      if (!isExpected) throw new Violation('a run ends in words', `${(error as Error).stack}`);
      return error.code;
    } finally {
      await db.close();
    }
  }

  /** A replica runs now and then, dies, and is started again. */
  function live(name: string) {
    let life = 0;
    const start = () => {
      life += 1;
      const process = createProcess(`${name}${life}`, plan.can('clock') ? random.between(-2_000, 2_000) : 0);
      process.onDeath.push(() => world.after(random.between(1_000, 30_000), start, null));
      const again = () => {
        if (isCalm() || broken !== undefined) return;
        one(process, random.pick(groupChoices)).then(
          () => world.after(random.between(2_000, 60_000), again, process),
          (error: unknown) => {
            broken ??= error;
          },
        );
      };
      world.after(random.between(0, 20_000), () => world.as(process, again), process);
    };
    start();
  }

  function peopleLive() {
    const again = () => {
      if (isCalm()) return;
      people.act();
      world.after(random.between(500, 20_000), again, null);
    };
    world.after(random.between(15_000, 40_000), again, null);
  }

  const sleep = (ms: number) => new Promise<void>((resolve) => world.after(ms, resolve, null));

  async function story() {
    for (let at = 0; at < plan.replicas; at += 1) live('ab'[at] ?? 'c');
    peopleLive();
    if (plan.can('lost row')) world.after(random.between(60_000, 200_000), () => people.loseRow(), null);
    await sleep(plan.troubleMs + 1_000);
    if (broken !== undefined) throw broken as Error;
    // A request may be applied so late; an intent is read back after the quiet period.
    await sleep(700_000);
    const calm = createProcess('calm');
    await world.as(calm, async () => {
      let before = '';
      for (let run = 0; ; run += 1) {
        if (run > mostCalmRuns) throw new Violation('nothing moves any more in the end', `after ${run} runs`);
        const outcome = await one(calm, ['users', 'listings', 'counts']);
        const now = invariants.fingerprint();
        if (run > 0 && now === before && outcome === 'complete') break;
        before = now;
        await sleep(run % 3 === 2 ? 650_000 : 30_000);
      }
    });
    invariants.atEnd();
  }
  let violation: string | undefined;
  try {
    const ended = story();
    ended.catch(() => {});
    await world.settle(Promise.race([ended, watch()]));
  } catch (error) {
    violation = error instanceof Violation ? error.message : `it broke: ${(error as Error).stack}`;
  }
  /** What goes wrong within an event. */
  function watch() {
    return new Promise<never>((_, reject) => {
      const look = () => {
        if (broken === undefined) world.after(1_000, look, null);
        else reject(broken as Error);
      };
      look();
    });
  }
  const digest = createHash('sha256')
    .update(world.lines.join('\n'))
    .update(String(world.events))
    .digest('hex');
  const edits = [...people.edits.values()].reduce((sum, all) => sum + all.length, 0);
  const { requests, pushes } = service;
  const counts = { events: world.events, runs, requests, pushes, crashes, edits };
  return { seed, violation, digest, lines: world.lines, counts, checked: invariants.checked };
}
