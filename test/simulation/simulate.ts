/** One seed: some minutes in which things go wrong, then calm, then runs until two in a row change nothing. */
import { createHash } from 'node:crypto';
import type { Pool } from 'undici';
import type { Config } from '../../src/config/config.ts';
import { createTeams } from '../../src/emulator/rules/create-teams.ts';
import { type PlayedTeam, putUser } from '../../src/emulator/rules/played-team.ts';
import type { RunGroup } from '../../src/model/run-group.ts';
import { type Commands, createCommands } from './commands.ts';
import type { Ground } from './ground.ts';
import { createInvariants, type Invariants, Violation } from './invariants.ts';
import { columns, createPeople, keyOf, type People } from './people.ts';
import { drawPlan, type Plan } from './plan.ts';
import { createReplicas } from './replica.ts';
import { createService, type FaultName, faultNames, type Sent, type Service } from './service.ts';
import { createProcess, homeHost, type Process, startMs } from './world.ts';

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

/** A team, and who and what there is around it. */
interface Side {
  readonly config: Config;
  readonly service: Service;
  readonly people: People;
  readonly commands: Commands;
  readonly invariants: Invariants;
  /** Whom the last push was about. */
  hot: number | undefined;
}

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
/** Another name of the database: to musterd, another place. */
const copyHost = 'copy.example.net';

/** The teams of this plan. The second has users of the same ids, of which the first two are the same people. */
function drawTeams(plan: Plan, seed: number): readonly PlayedTeam[] {
  const standard = { users: plan.users, tags: 4, fields: 2, apiKey: 'key', seed };
  const [one, two] = createTeams({ ...standard, teams: plan.teams > 1 ? [{ users: 5, apiKey: 'key' }] : [] });
  if (one === undefined) throw new Error('there is no team');
  if (two === undefined) return [one];
  const ids = [...one.users.keys()];
  const records = [...two.users.values()].map((user, at) => {
    const { first, last, email, phone } = (at < 2 ? [...one.users.values()][at] : undefined) ?? user;
    return { ...user, id: ids[at] ?? user.id, first, last, email, phone };
  });
  for (const keyed of [two.users, two.usersByEmail, two.usersByPhone]) keyed.clear();
  for (const record of records) putUser(two, record);
  return [one, two];
}

export async function simulate(ground: Ground, seed: number, off: ReadonlySet<string>): Promise<Played> {
  const { world, postgres } = ground.begin(seed);
  const { configSchema } = await import('../../src/config/config.ts');
  const plan = drawPlan(world.random('plan'), off);
  const random = world.random('events');
  const endOfTroubleMs = startMs + plan.troubleMs;
  const isCalm = () => world.now() > endOfTroubleMs;
  const sides: Side[] = [];
  let crashes = 0;
  let broken: unknown;
  const fail = (error: unknown) => {
    broken ??= error;
  };
  const sideOf = (origin: string) =>
    sides.find(({ config }) => config.service.baseUrl === origin) ?? (sides[0] as Side);
  const connections = {
    to: (origin: string) => ({ dispatch: sideOf(origin).service.dispatch }) as unknown as Pool,
    close: async () => {},
  };
  const replicas = await createReplicas(world, connections, fail);

  for (const team of drawTeams(plan, seed)) {
    const config = configSchema.parse({
      team: `team${team.id}`,
      service: { baseUrl: `https://team${team.id}.example.net`, apiKey: 'key' },
      database: { url: 'postgres://elsewhere.example.net/', migrate: false },
      policy: plan.policy,
      schedule: { users: '* * * * *', listings: '*/5 * * * *', counts: '*/5 * * * *' },
      push: { batchSize: plan.batchSize, approve: plan.approve, fourEyes: plan.fourEyes },
      absence: { confirmAfterMs: plan.confirmAfterMs },
      guard: { maxRows: plan.maxRows },
      lease: { ttlMs: plan.leaseMs },
    });
    const service = createService(world, team, plan.variants);
    const people = createPeople(world, postgres, service, plan);
    const commands = await createCommands(
      world,
      postgres,
      { service, people, config, plan, connections },
      fail,
    );
    const invariants = createInvariants(world, postgres, service, people, commands, plan, fail);
    sides.push({ config, service, people, commands, invariants, hot: undefined });
  }
  const [first, second] = sides;
  if (first === undefined) throw new Error('there is no team');
  if (second !== undefined) {
    const both = [...second.service.team.users.keys()].slice(0, 2);
    first.service.share(second.service, both);
    second.service.share(first.service, both);
  }
  for (const side of sides) meetFaults(side);
  postgres.onSend = befall;

  function meetFaults(side: Side) {
    const { service, people } = side;
    const possible = faultNames.filter((name) => plan.can(name));
    service.faultOf = (sent): FaultName | undefined => {
      const [item] = sent.body.users ?? [];
      if (item !== undefined) side.hot = Number(item['id']);
      const rate = sent.isWrite ? 3 * plan.faultRate : plan.faultRate;
      if (isCalm() || possible.length === 0 || random.fraction() >= rate) return undefined;
      const telling = possible.filter(
        (name) => name === 'late' || name === 'hang after' || name === 'lost after',
      );
      const fault = random.pick(
        sent.isWrite && telling.length > 0 && random.between(0, 1) === 0 ? telling : possible,
      );
      if (fault === 'late' && item !== undefined && plan.can('aimed edit'))
        editBeforeEffect(side, sent, item);
      return fault;
    };
    service.onDispatch = (by, isWrite, ids) => {
      const how = befall(by, isWrite ? 'a push' : 'a read');
      if (how !== 'send') world.kill(by);
      if (!isWrite || isCalm()) return how;
      const [user] = ids;
      if (plan.can('pause') && random.fraction() < 0.05) {
        world.pause(by, random.between(3_000, 12_000));
        world.trace(`${by.name} is paused right before the first byte`);
        const rivalMs = Math.max(0, by.pausedUntilMs - world.now() - 5);
        if (plan.can('aimed edit') && user !== undefined)
          world.after(rivalMs, () => people.rival(user), null);
      } else if (plan.can('aimed edit') && user !== undefined && random.fraction() < 0.03) people.rival(user);
      return how;
    };
  }

  /** Somebody edits what is under way, which arrives between two looks of the next run. */
  function editBeforeEffect(
    { people, service }: Side,
    { id }: Sent,
    item: Readonly<Record<string, unknown>>,
  ) {
    const edit = () => {
      if (isCalm()) return;
      people.edit(Number(item['id']), columns.find((column) => column in item) ?? 'name');
      service.hasten(id);
    };
    world.after(random.between(1_000, 60_000), edit, null);
  }

  /** An I/O event of a process: it may be its last, it may have to wait, or somebody does something right now. */
  function befall(by: Process, what: string): 'send' | 'drop' | 'send and die' {
    if (isCalm()) return 'send';
    if (plan.can('aimed edit') && random.fraction() < 0.012) {
      world.trace(`(aimed at ${what.slice(0, 60)})`);
      const { people, hot } = random.pick(sides);
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

  const configs = () => sides.map(({ config }) => config);

  /** A replica runs now and then, or is a daemon; it dies, and is started again. */
  function live(name: string, isDaemon: boolean, host = homeHost) {
    let life = 0;
    const start = () => {
      if (isCalm()) return;
      life += 1;
      const skewMs = plan.can('clock') ? random.between(-2_000, 2_000) : 0;
      const process = createProcess(`${name}${life}`, skewMs, host);
      process.onDeath.push(() => world.after(random.between(1_000, 30_000), start, null));
      const again = () => {
        if (isCalm() || broken !== undefined) return;
        replicas
          .run(process, random.pick(sides).config, random.pick(groupChoices))
          .then(() => world.after(random.between(2_000, 60_000), again, process), fail);
      };
      const serve = () => {
        replicas.serve(process, configs()).then(
          () => world.trace(`${process.name} serves`),
          // The database was away at its start: somebody starts it again.
          (error: unknown) => {
            world.trace(`${process.name} does not start: ${(error as Error).message.slice(0, 200)}`);
            world.kill(process);
          },
        );
        // At the end of all trouble it is gone.
        world.after(endOfTroubleMs - world.now(), () => world.kill(process), null);
      };
      world.after(random.between(0, 20_000), () => world.as(process, isDaemon ? serve : again), process);
    };
    start();
  }

  /** Again and again, until the calm. */
  function oftenUntilCalm([least, most]: readonly [number, number], work: () => void) {
    const again = () => {
      if (isCalm() || broken !== undefined) return;
      work();
      world.after(random.between(least, most), again, null);
    };
    world.after(random.between(15_000, 40_000), again, null);
  }

  function hideMany({ service }: Side) {
    const ids = [...service.team.users.keys()];
    service.hide(ids.filter(() => random.between(0, 2) > 0));
    world.after(random.between(60_000, 200_000), () => service.showAll(), null);
  }

  const sleep = (ms: number) => new Promise<void>((resolve) => world.after(ms, resolve, null));

  async function trouble() {
    for (let at = 0; at < plan.replicas; at += 1) live('ab'[at] ?? 'c', plan.isDaemon);
    if (plan.can('copy')) live('elsewhere', false, copyHost);
    for (const side of sides) {
      const { people, commands } = side;
      oftenUntilCalm([500, 20_000], () => people.act());
      if (plan.orders.length > 0)
        oftenUntilCalm([10_000, 60_000], () => void commands.order(random.pick(plan.orders)).catch(fail));
      if (plan.can('lost row')) world.after(random.between(60_000, 200_000), () => people.loseRow(), null);
      if (plan.can('mass absence')) world.after(random.between(30_000, 100_000), () => hideMany(side), null);
    }
    await sleep(plan.troubleMs + 1_000);
    if (broken !== undefined) throw broken as Error;
    for (const { service } of sides) service.showAll();
    // A request may be applied so late; an intent is read back after the quiet period.
    await sleep(700_000);
  }

  /** A daemon that nothing befalls: what is edited goes at once, what the service changes comes with the next time. */
  async function calmDaemon() {
    const process = createProcess('calm daemon');
    const serving = await world.as(process, () => replicas.serve(process, configs()));
    await sleep(30_000);
    for (const { people, service, invariants } of sides) {
      const user = people.anybody();
      if (user === undefined) continue;
      const key = people.editEmail(user);
      await sleep(10_000);
      if (key !== undefined) invariants.isSent(key);
      service.change(user, { phone: '16667778888' });
      await sleep(100_000);
      invariants.isPulled(keyOf(user, 'phone'));
    }
    const stopped = world.as(process, () => serving.stop().then(() => true));
    const isStopped = await Promise.race([stopped, sleep(60_000).then(() => false)]);
    if (!isStopped) throw new Violation('a daemon stops when it is asked to', 'it went on for a minute');
  }

  async function calm() {
    const process = createProcess('calm');
    if (plan.can('copy')) await first?.commands.adopt(homeHost, 'home');
    if (plan.isDaemon) await calmDaemon();
    await world.as(process, async () => {
      let before = '';
      for (let run = 0; ; run += 1) {
        if (run > mostCalmRuns) throw new Violation('nothing moves any more in the end', `after ${run} runs`);
        const outcomes: string[] = [];
        for (const { config } of sides)
          outcomes.push(await replicas.run(process, config, ['users', 'listings', 'counts']));
        if (broken !== undefined) throw broken as Error;
        const now = sides.map(({ invariants }) => invariants.fingerprint()).join('\n');
        const areOver = outcomes.every((outcome) => outcome === 'complete');
        if (run > 0 && now === before && areOver) break;
        before = now;
        for (const { people } of sides) people.confirmDepartures();
        await sleep(run % 3 === 2 ? 650_000 : 30_000);
      }
    });
    for (const { invariants } of sides) invariants.atEnd();
  }

  let violation: string | undefined;
  try {
    const ended = trouble().then(calm);
    ended.catch(() => {});
    await world.settle(Promise.race([ended, watch()]));
  } catch (error) {
    const first = broken ?? error;
    violation = first instanceof Violation ? first.message : `it broke: ${(first as Error).stack}`;
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
  const sum = (of: (side: Side) => number) => sides.reduce((total, side) => total + of(side), 0);
  const counts = {
    events: world.events,
    runs: replicas.runs,
    requests: sum(({ service }) => service.requests),
    pushes: sum(({ service }) => service.pushes),
    crashes,
    edits: sum(({ people }) => [...people.edits.values()].reduce((total, all) => total + all.length, 0)),
  };
  const checked = new Map<string, number>();
  for (const { invariants } of sides)
    for (const [name, times] of invariants.checked) checked.set(name, (checked.get(name) ?? 0) + times);
  return { seed, violation, digest, lines: world.lines, counts, checked };
}
