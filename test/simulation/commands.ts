/**
 * What people order by the command line: each order is a process of its own, which can be cut off like any. What it did is
 * read off the mirror before and after each of its transactions, so that it counts even where its answer was lost.
 */
import type { Config } from '../../src/config/config.ts';
import type { MirrorUser } from '../../src/model/user.ts';
import type { Setup } from '../../src/runs/open.ts';
import type { LeasedTeam } from '../../src/runs/sync/with-run.ts';
import type { Connections } from '../../src/service/connections.ts';
import type { Random } from '../../src/emulator/random.ts';
import { databaseUrl } from './ground.ts';
import { canonicalOf, type Column, columns, keyOf, type People, type Standing } from './people.ts';
import type { Plan } from './plan.ts';
import type { Postgres } from './postgres.ts';
import type { Service } from './service.ts';
import { createProcess, homeHost, type Process, type World } from './world.ts';

export type Order = 'resolve' | 'hold' | 'undo' | 'import' | 'resync' | 'adopt';

/** How long they wait for a run to end. */
const patienceMs = 6_000;

/** A field that somebody asked to leave alone. */
export interface AskedHold {
  readonly key: string;
  readonly fromMs: number;
  untilMs: number;
}

/** What is known of an order when one of its transactions ends. */
export interface Done {
  readonly order: Order;
  readonly by: string;
  readonly before: ReadonlyMap<string, Standing>;
  /** The fields whose mirror it has changed. */
  readonly changed: readonly string[];
  /** What its person had before them, by user and column; `undefined`: nothing was shown. */
  readonly shown: ReadonlyMap<string, string> | undefined;
}

export interface Commands {
  /** Somebody orders something; resolves when it has ended, and does not where it was cut off. */
  order(what: Order): Promise<void>;
  /** The mirror is said to be at home here, whatever was said before. */
  adopt(host: string, as: 'home' | 'copy' | 'also'): Promise<void>;
  readonly asked: readonly AskedHold[];
  /** Processes that are to send nothing, whatever happens. */
  readonly silent: ReadonlySet<Process>;
  /** Each is called after a transaction of an order that changed something. */
  readonly onDone: ((done: Done) => void)[];
}

/** What comes of a transaction of an order, besides the edits in it. */
interface Running {
  readonly order: Order;
  readonly by: string;
  before: ReadonlyMap<string, Standing>;
  shown: ReadonlyMap<string, string> | undefined;
  /** Called once, at the end of the first transaction that the engine made under a lease of its own. */
  readonly onCommit: (changed: readonly string[]) => void;
}

/** How the values of a user are told apart. */
export function textOf(column: Column, user: MirrorUser): string {
  if (column === 'name') return canonicalOf(column, `${user.name.first} ${user.name.last}`);
  const value = column === 'role_id' ? user.roleId : user[column];
  return canonicalOf(column, value === null ? null : String(value));
}
const fieldOf = (column: Column) => (column === 'role_id' ? 'roleId' : column);

export async function createCommands(
  world: World,
  postgres: Postgres,
  {
    service,
    people,
    config,
    plan,
    connections,
  }: { service: Service; people: People; config: Config; plan: Plan; connections: Connections },
  fail: (error: unknown) => void,
): Promise<Commands> {
  const { createDatabase } = await import('../../src/mirror/db/database.ts');
  const { createLog } = await import('../../src/log.ts');
  const { MusterdError } = await import('../../src/errors.ts');
  const { resolve } = await import('../../src/runs/decide/resolve-field.ts');
  const { endHold, holdFields } = await import('../../src/runs/decide/hold-fields.ts');
  const { applyUndo } = await import('../../src/runs/decide/undo-run.ts');
  const { runResync } = await import('../../src/runs/sync/resync-team.ts');
  const { adoptPlace } = await import('../../src/runs/set-up/adopt-place.ts');
  const { applyImport, previewImport } = await import('../../src/runs/files/import/import-users.ts');
  const { readTable } = await import('../../src/files/read-table.ts');
  const random: Random = world.random(`orders of ${service.team.id}`);
  const log = createLog({ level: 'silent' });
  const running = new Map<Process, Running>();
  const asked: AskedHold[] = [];
  const silent = new Set<Process>();
  const own = `team_id = ${service.team.id}`;
  let number = 0;

  postgres.onBegin.push((by) => {
    const one = by === undefined ? undefined : running.get(by);
    if (one !== undefined) one.before = people.stateNow();
  });
  postgres.onEnd.push((by) => {
    const one = by === undefined ? undefined : running.get(by);
    if (one === undefined) return;
    const { order, before, shown } = one;
    const after = people.stateNow();
    const isEdit = order !== 'resync' && order !== 'adopt';
    const changed = isEdit
      ? people.noteEdits(one.by, before, after)
      : [...after].filter(([key, { bytes }]) => before.get(key)?.bytes !== bytes).map(([key]) => key);
    if (changed.length > 0)
      for (const tell of made.onDone) tell({ order, by: one.by, before, changed, shown });
    one.onCommit(changed);
  });

  type Work = (setup: Setup, of: LeasedTeam, by: string) => Promise<unknown>;

  /** Plays one order to its end. */
  async function play(
    order: Order,
    { by, host = homeHost }: { readonly by: string; readonly host?: string },
    onCommit: (changed: readonly string[]) => void,
    work: Work,
  ): Promise<void> {
    number += 1;
    const process = createProcess(`${by}'s ${order} ${number}`, 0, host);
    running.set(process, { order, by, before: new Map(), shown: undefined, onCommit });
    world.trace(`${process.name} begins`);
    await world.as(process, async () => {
      const db = createDatabase({ url: databaseUrl(host) });
      const setup = { config, log, mirror: { db } } as unknown as Setup;
      try {
        await work(setup, { team: config.team, lease: { ...config.lease, waitMs: patienceMs } }, by);
        world.trace(`${process.name} is done`);
      } catch (error) {
        world.trace(`${process.name} ends: ${(error as Error).message.slice(0, 200)}`);
        if (!(error instanceof MusterdError)) fail(error);
      } finally {
        await db.close();
        running.delete(process);
      }
    });
  }

  const heldNow = () =>
    postgres.ask(
      `select user_id, field, mirror_text, edit_id from report.held
       where ${own} and edit_id is not null and reason <> 'asked' order by user_id, field`,
    );

  async function resolveOne() {
    const held = heldNow();
    if (held.length === 0) return;
    const [user, field, mirror, edit] = random.pick(held);
    const column = field as Column;
    const key = keyOf(Number(user), column);
    number += 1;
    const at = number;
    const another = column === 'email' ? { value: `r${at}@example.com` } : 'service';
    const take = random.pick(['mirror', 'service', 'mirror', another] as const);
    const by = 'carol';
    let isOver = false;
    const onCommit = () => {
      if (isOver) return;
      // Which transaction it was is read off the ledger: the answer can be lost.
      const [row] = postgres.ask(
        `select from sync.changes where ${own} and kind = 'resolve' and user_id = ${user} and decided_why = 'order ${at}'`,
      );
      if (row === undefined) return;
      isOver = true;
      people.decidedMs.set(key, world.now());
      if (take === 'mirror') people.approve(key, { value: canonicalOf(column, mirror ?? null), by });
    };
    const seen = { kind: 'edit', edit: BigInt(edit ?? 0) } as const;
    await play('resolve', { by }, onCommit, (setup) =>
      resolve(setup, String(user), {
        field: fieldOf(column),
        take,
        seen,
        why: `order ${at}`,
        actor: by,
      }),
    );
  }

  async function holdOne() {
    const standing = asked.filter(({ untilMs }) => untilMs > world.now());
    const [old] = standing;
    if (old !== undefined && random.between(0, 2) === 0) {
      const [user = '', column = ''] = old.key.split(' ');
      const field = fieldOf(column as Column);
      // Whether it was ended is asked of the mirror: the answer can be lost.
      const onCommit = () => {
        const rows = postgres.ask(
          `select from sync.held_fields where ${own} and user_id = ${user} and field = '${column}' and until > clock_timestamp()`,
        );
        if (rows.length === 0) old.untilMs = Math.min(old.untilMs, world.now());
      };
      await play('hold', { by: 'carol' }, onCommit, (setup, of) =>
        endHold(setup, of, { id: BigInt(user), fields: [field] }),
      );
      return;
    }
    const id = random.pick([...service.team.users.keys()]);
    const column = random.pick(columns);
    const seconds = random.between(30, 240);
    const beganMs = world.now();
    const onCommit = () => {
      const [row] = postgres.ask(
        `select extract(epoch from until) * 1000 from sync.held_fields
         where ${own} and user_id = ${id} and field = '${column}' and until > clock_timestamp() and asked_why = 'since ${beganMs}'`,
      );
      if (row === undefined) return;
      const key = keyOf(id, column);
      for (const one of asked) if (one.key === key) one.untilMs = Math.min(one.untilMs, world.now());
      asked.push({ key, fromMs: world.now(), untilMs: Number(row[0]) });
      // An approval ends with it.
      people.undecide(key);
    };
    await play('hold', { by: 'carol' }, onCommit, (setup, of) =>
      holdFields(setup, of, {
        id: BigInt(id),
        fields: [fieldOf(column)],
        end: { seconds },
        why: `since ${beganMs}`,
        actor: 'carol',
      }),
    );
  }

  async function undoOne() {
    const by = random.pick(['anna', 'carol']);
    const [row] = postgres.ask(
      `select run_id from sync.changes where ${own} and kind in ('push', 'pull') and run_id is not null order by change_id desc limit 1`,
    );
    const [run] = row ?? [];
    if (run === undefined || run === null) return;
    const why = random.between(0, 1) === 0 ? 'a mistake' : undefined;
    const onCommit = (changed: readonly string[]) => {
      if (why !== undefined && !plan.fourEyes) for (const key of changed) letPass(key, by);
    };
    await play('undo', { by }, onCommit, async (setup, leased) => {
      await applyUndo(setup.mirror.db, { ...config, lease: leased.lease }, BigInt(run), { actor: by, why });
    });
  }

  const letPass = (key: string, by: string) => {
    // What is held on request is not decided about.
    if (asked.some((one) => one.key === key && world.now() < one.untilMs)) return;
    const last = people.edits.get(key)?.at(-1);
    if (last !== undefined) people.approve(key, { value: last.value, by });
  };

  /** A file with an email, a phone or a role of some users; the person looks at it for some seconds. */
  async function importFile() {
    const by = random.pick(['anna', 'bob']);
    const ids = [...service.team.users.keys()].filter(() => random.between(0, 2) === 0);
    if (ids.length === 0) return;
    number += 1;
    const at = number;
    const lines = ids.map((id) =>
      random.between(0, 1) === 0
        ? `${id},i${at}-${id}@example.com,`
        : `${id},,+1777${1_000_000 + at * 100 + (id % 100)}`,
    );
    const why = random.between(0, 1) === 0 ? 'the file of the office' : undefined;
    let isSeen = false;
    const onCommit = (changed: readonly string[]) => {
      if (!plan.fourEyes && (why !== undefined || isSeen)) for (const key of changed) letPass(key, by);
    };
    const looksMs = random.between(0, 20_000);
    const reading = { isRead: () => true, signal: new AbortController().signal };
    await play('import', { by }, onCommit, async (setup) => {
      const table = await readTable(Buffer.from(`id,email,phone\n${lines.join('\n')}\n`), 'csv', reading);
      const all = new Set(['email', 'phone'] as const);
      const wishes = { mappings: [], only: all, clears: false, country: null, trustsIds: false };
      const preview = await previewImport(setup, { table, ...wishes });
      const process = world.current();
      const one = process === undefined ? undefined : running.get(process);
      if (one !== undefined)
        one.shown = new Map(
          preview.edits.flatMap(({ id, expected }) =>
            columns.map((column) => [keyOf(Number(id), column), textOf(column, expected)] as const),
          ),
        );
      isSeen = config.push.approve === 'always' && preview.refused.length === 0;
      await new Promise<void>((then) => world.after(looksMs / 2, then));
      // While one looks, another edits.
      const [rival] = preview.edits;
      if (plan.can('aimed edit') && rival !== undefined) people.act(Number(rival.id));
      await new Promise<void>((then) => world.after(looksMs / 2, then));
      await applyImport(setup, preview, { actor: by, why });
    });
  }

  async function resync() {
    await play(
      'resync',
      { by: 'carol' },
      () => {},
      async (setup) => {
        const process = world.current();
        if (process !== undefined) silent.add(process);
        await runResync(setup.mirror.db, config, { log, connections, waitMs: patienceMs });
      },
    );
  }

  const adopt: Commands['adopt'] = (host, as) =>
    play(
      'adopt',
      { by: 'carol', host },
      () => {},
      (setup, { lease }) => adoptPlace(setup.mirror.db, lease, { as, why: 'it has moved', actor: 'carol' }),
    );

  const orders: Readonly<Record<Order, () => Promise<void>>> = {
    resolve: resolveOne,
    hold: holdOne,
    undo: undoOne,
    import: importFile,
    resync,
    adopt: () =>
      adopt(
        random.pick([homeHost, 'copy.example.net']),
        random.pick(['home', 'home', 'copy', 'also'] as const),
      ),
  };
  const made: Commands = {
    order: (what) => orders[what](),
    adopt,
    asked,
    silent,
    onDone: [],
  };
  return made;
}
