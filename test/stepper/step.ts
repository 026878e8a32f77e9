/** One seed: runs and people in sessions of a real Postgres, a statement at a time; then calm, until nothing moves any more. */
import type { Pool } from 'undici';
import { createTeams } from '../../src/emulator/rules/create-teams.ts';
import type { UserChange } from '../../src/emulator/rules/update-user.ts';
import type { RunGroup } from '../../src/model/run-group.ts';
import { createInvariants, Violation } from '../simulation/invariants.ts';
import { createPeople } from '../simulation/people.ts';
import { drawPlan, type Plan } from '../simulation/plan.ts';
import { VirtualSocket } from '../simulation/postgres.ts';
import { createReplicas } from '../simulation/replica.ts';
import { createService, type Service } from '../simulation/service.ts';
import { createProcess, createWorld, install, type Process, type World } from '../simulation/world.ts';
import { createGate, createServer, type Fate, type Gate, type Server, type Session } from './gate.ts';
import { createStaff, type Staff } from './people.ts';
import { createPromises } from './promises.ts';

export interface Stepped {
  /** The invariant that was broken, in words; `undefined`: none. */
  readonly violation: string | undefined;
  readonly lines: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** A server, and the database of which each seed gets a copy. */
export interface Ground {
  readonly url: string;
  readonly template: string;
}

const realNow = Date.now.bind(Date);
/** Most runs until nothing moves any more. */
const mostCalmRuns = 14;
const groupChoices: readonly (readonly RunGroup[])[] = [['users'], ['edits'], ['edits']];

/** From here on, this process lives in virtual time. */
export function prepare(): Server {
  const server = createServer();
  install(VirtualSocket);
  createWorld(0);
  return server;
}

function planOf(world: World): Plan {
  const random = world.random('plan');
  const drawn = drawPlan(random, new Set());
  return {
    ...drawn,
    users: random.between(2, 4),
    variants: { ...drawn.variants, 'unfiltered-users': 'all', blank: 'empty' },
    approve: random.pick(['guarded', 'always']),
    maxRows: random.pick([1, 25]),
    replicas: random.between(1, 2),
    faultRate: random.pick([0, 0, 0.1]),
    can: () => false,
  };
}

const isRun = ({ name }: Process) => /^(?:a|b|calm)\d/.test(name);
const sleep = (world: World, ms: number) =>
  new Promise<void>((resolve) => {
    world.after(ms, resolve, null);
  });

/** A statement may end its connection or its process, and people act before it, rather on the user that it is about. */
function createFates(world: World, gate: Gate, people: Staff, ids: readonly number[]) {
  const random = world.random('fates');
  return (session: Session, text: string, unit: Buffer): Fate => {
    const isTelling = /mirror\.users|sync\.held_fields|sync\.changes/.test(text);
    if (random.between(0, isTelling ? 2 : 20) === 0) people.act(ids.find((id) => unit.includes(String(id))));
    const isCommit = /^commit/i.test(text);
    if (random.fraction() < (isCommit ? 0.008 : 0.001))
      return random.pick<Fate>(['ends before', 'ends in', 'ends after']);
    if (!isRun(session.by)) return 'passes';
    if (random.fraction() < (isCommit ? 0.006 : 0.001)) return random.pick<Fate>(['dies before', 'dies in']);
    if (random.fraction() < 0.002) {
      world.trace(`${session.by.name} is paused until its lease is over`);
      world.pause(session.by, 25_000);
      endLease(gate);
    }
    return 'passes';
  };
}

/** The database's clock is the machine's: a time that passes is taken off what is written down. */
const endLease = (gate: Gate) =>
  gate.ask(`
    with free as (select team from sync.leases for no key update skip locked)
    update sync.leases l set expires_at = clock_timestamp() - interval '1 s' from free where l.team = free.team`);
const passAnHour = (gate: Gate) =>
  gate.ask(
    "update sync.changes set opened_at = opened_at - interval '1 h', sent_at = sent_at - interval '1 h' where state = 'open'",
  );

/** Things go wrong on the service, and people change users there. */
function disturbService(world: World, service: Service, people: Staff, plan: Plan): () => void {
  const random = world.random('service of the stepper');
  const ids = [...service.team.users.keys()];
  service.faultOf = ({ isWrite }) =>
    random.fraction() < plan.faultRate
      ? random.pick(isWrite ? ['lost after', 'partial', '400', '500 with effect'] : ['lost before', 'slow'])
      : undefined;
  service.onDispatch = (_by, isWrite, [user]) => {
    const number = random.between(1, 1e6);
    const change = random.pick<UserChange>([
      { email: `s${number}@example.com` },
      { phone: `1666${number}` },
      { roleId: random.pick([2, 3]) },
      { first: 'Ida', last: `Lund ${number}` },
    ]);
    if (random.between(0, 3) === 0) service.change(random.pick(ids), change);
    if (random.between(0, 3) === 0) people.act();
    // While the answer is on its way, or when it is there.
    if (isWrite) world.after(random.fraction() * 150, () => people.act(user), null);
    return 'send';
  };
  return () => {
    service.faultOf = () => undefined;
    service.onDispatch = undefined;
  };
}

/** Everything that one seed is about. */
async function createStory(server: Server, { url, template }: Ground, world: World) {
  const { configSchema } = await import('../../src/config/config.ts');
  server.call({ what: 'begin', url, template });
  const gate = createGate(world, server);
  const plan = planOf(world);
  const [team] = createTeams({ users: plan.users, apiKey: 'key', seed: world.seed });
  if (team === undefined) throw new Error('there is no team');
  let broken: unknown;
  const fail = (error: unknown) => {
    broken ??= error;
  };
  /** In the time of the database, which is the machine's. */
  const seen = { ...world, now: realNow };
  const service = createService(seen, team, plan.variants);
  const known = createPeople(seen, gate, service, plan);
  const people = createStaff(seen, gate, known, [...team.users.keys()]);
  const commands = { asked: [], silent: new Set<Process>(), onDone: [] };
  // Approvals are asked for at the COMMIT, where it is known which edit was approved.
  const shared = { ...plan, approve: 'guarded' as const };
  const invariants = createInvariants(seen, gate, service, known, commands, shared, fail);
  const promises = createPromises(gate, known, people, plan);
  gate.onCommit.push((by, text) => {
    if (isRun(by)) promises.afterCommit(by, text);
  });
  const connections = {
    to: () => ({ dispatch: service.dispatch }) as unknown as Pool,
    close: async () => {},
  };
  const config = configSchema.parse({
    service: { baseUrl: 'https://service.example.net', apiKey: 'key' },
    database: { url: 'postgres://elsewhere.example.net/', migrate: false },
    policy: plan.policy,
    push: { batchSize: plan.batchSize, approve: plan.approve, fourEyes: plan.fourEyes },
    guard: { maxRows: plan.maxRows },
    rate: { perMinute: 60_000 },
  });
  const replicas = await createReplicas(world, connections, fail);
  const run = async (process: Process, groups: readonly RunGroup[]) => {
    const outcome = await world.as(process, () => replicas.run(process, config, groups));
    if (broken !== undefined) throw broken as Error;
    return outcome;
  };
  return { world, gate, plan, service, known, people, invariants, promises, run };
}
type Story = Awaited<ReturnType<typeof createStory>>;

/** Runs of one replica, one after the other; each is a process of its own, which may die. @returns how many died */
async function replica({ world, gate, people, run }: Story, name: string, count: number): Promise<number> {
  const random = world.random(`replica ${name}`);
  let deaths = 0;
  for (let [at, left] = [1, count]; left >= 1; at += 1, left -= 1) {
    const process = createProcess(`${name}${at}`);
    people.left = 6;
    const death = new Promise<'dead'>((resolve) => process.onDeath.push(() => resolve('dead')));
    const end = await Promise.race([death, run(process, random.pick(groupChoices))]);
    world.trace(`${process.name} is over: ${end}`);
    if (end === 'lease-held') left += 0.7;
    if (end === 'dead') deaths += 1;
    if (end === 'dead') endLease(gate);
    await sleep(world, random.between(1, 500));
  }
  return deaths;
}

/** @returns how many processes died */
async function play(story: Story): Promise<number> {
  const { world, gate, plan, service, people, run } = story;
  await run(createProcess('calm0'), ['users']);
  gate.fateOf = createFates(world, gate, people, [...service.team.users.keys()]);
  const stop = disturbService(world, service, people, plan);
  const counts = plan.replicas === 1 ? [4] : [3, 4];
  const deaths = await Promise.all(counts.map((count, at) => replica(story, 'ab'[at] ?? 'c', count)));
  people.left = 0;
  stop();
  gate.fateOf = () => 'passes';
  while (people.isAtWork) await sleep(world, 100);
  await playCalm(story);
  return deaths.reduce((sum, n) => sum + n, 0);
}

/** Runs until one changes nothing, after somebody has approved what waits. */
async function playCalm({ gate, people, invariants, promises, run }: Story) {
  let before = '';
  for (let at = 1; ; at += 1) {
    if (at > mostCalmRuns) throw new Violation('nothing moves any more in the end', `after ${at} runs`);
    if (at % 3 === 1) passAnHour(gate);
    endLease(gate);
    const outcome = await run(createProcess(`calm${at}`), ['users']);
    if (at === 1) await people.approveAll();
    const now = invariants.fingerprint();
    if (at > 2 && now === before && outcome === 'complete') break;
    before = now;
  }
  invariants.atEnd();
  promises.atEnd();
}

export async function step(server: Server, ground: Ground, seed: number): Promise<Stepped> {
  const world = createWorld(seed);
  const story = await createStory(server, ground, world);
  const { gate, known, people, service, invariants, promises } = story;
  let violation: string | undefined;
  let deaths = 0;
  try {
    const ended = play(story);
    ended.catch(() => {});
    deaths = await world.settle(ended);
  } catch (error) {
    violation = error instanceof Violation ? error.message : `it broke: ${(error as Error).stack}`;
  }
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((all, n) => all + n, 0);
  const edits = sum([...known.edits.values()].map(({ length }) => length));
  const checks = sum([...invariants.checked.values(), ...promises.checked.values()]);
  const counts = {
    ...gate.counts,
    deaths,
    edits,
    approvals: people.approved.size,
    pushes: service.pushes,
    checks,
  };
  return { violation, lines: world.lines, counts };
}
