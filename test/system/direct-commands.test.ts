import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import type { Fault } from '../../src/emulator/faults/faults.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd, startMusterd } from './run-musterd.ts';
import { loginAt } from './stage.ts';

type Values = Readonly<Record<string, unknown>>;

/** A command, and what it sends. */
interface Sending {
  readonly args: readonly string[];
  readonly call: string;
  readonly body: Values | undefined;
  readonly subject: 'tag' | 'message' | 'conversation_read';
  readonly outcome: 'answered' | 'confirmed';
  /** Of a message that is there. */
  readonly id?: number;
  readonly before?: unknown;
}

const folder = ownFolder();
let emulator: Emulator;
let database: TestDatabase;
let start: ReturnType<Emulator['snapshot']>;
const sql = async (text: string) => (await runSqlText(database.db, text)).rows;

beforeAll(async () => {
  emulator = await createEmulator({ http: true, users: 12, tags: 5, fields: 2, ratePerMinute: 0 });
  database = await createTestDatabase();
  start = emulator.snapshot();
});
afterAll(async () => {
  await emulator.close();
  await database.close();
});
beforeEach(() => emulator.clearRequests());
afterEach(async () => {
  emulator.clearFaults();
  emulator.restore(start);
  await sql('delete from sync.changes');
});

const withMirror = () => ({ DATABASE_URL: database.url, MUSTERD_ACTOR: 'anna' });
const environment = (more: Readonly<Record<string, string>> = withMirror()) => ({
  ...emulator.environment,
  MUSTERD_DATA_DIR: `${folder}/none`,
  ...more,
});
const musterd = (args: readonly string[], more?: Readonly<Record<string, string>>) =>
  runMusterd(args, environment(more));
const json = async (args: readonly string[], more?: Readonly<Record<string, string>>) => {
  const { stdout, ...ended } = await musterd([...args, '--json'], more);
  return { ...ended, result: JSON.parse(stdout) as Values };
};
const writes = () =>
  emulator.requests
    .filter(({ method, path }) => method !== 'GET' && path !== '/v1/tags')
    .map(({ method, path, body, requestId }) => ({ call: `${method} ${path}`, body, requestId }));
const inbox = () => {
  const found = emulator.team.inboxes().find(({ members }) => members.length > 0 && members.length < 12);
  if (found === undefined) throw new Error('the emulator has no inbox');
  return found;
};
const member = () => inbox().members[0] ?? 0;
const stranger = () => emulator.team.users().find(({ id }) => !inbox().members.includes(id))?.id ?? 0;
/** The words of a command line, with the ids that stand for the words in capitals. */
const line = (text: string): readonly string[] => {
  const values = new Map([
    ['INBOX', inbox().id],
    ['MEMBER', member()],
    ['STRANGER', stranger()],
  ]);
  return text.split(' ').map((word) => String(values.get(word) ?? word));
};
const message = (...more: readonly string[]) =>
  line('schedule create --inbox INBOX --zone Europe/Berlin').concat(
    ['--at', '2031-01-15 09:00', '--text', 'Hello\nyou'],
    more,
  );
const shownAs = async (id: string) =>
  JSON.parse((await musterd(['api', 'GET', `/v1/schedule/${id}`], {})).stdout) as Values;
const scheduled = async (...more: readonly string[]) =>
  String((await json([...message(...more), '--yes'], {})).result['id']);
const ledger = () =>
  sql(`select kind, state, user_id, run_id, team_id::int, base, old, new, outcome, request_id, sent_at is not null as sent,
    closed_at is not null as closed, decided_by, decided_role = session_user as own, decision_id, batch from sync.changes`);
const row = (old: unknown, sent: Values, outcome: Values, requestId: string | null, isClosed = true) =>
  [
    ['call', 'closed', null, null, 41, {}, old, sent, outcome, requestId],
    [true, isClosed, 'anna, said by musterd', true, null, null],
  ].flat();
const outcomes = () => sql(`select outcome, sent_at is not null from sync.changes`);

const body = () => ({ execute_at: '2031-01-15T08:00:00Z', inbox_id: inbox().id });
const sends: Readonly<Record<string, () => Promise<Sending> | Sending>> = {
  'tag create': () => ({
    args: ['tag', 'create', '  Very\u00a0 Important '],
    call: 'POST /v1/tag',
    body: { tag: 'Very Important' },
    subject: 'tag',
    outcome: 'confirmed',
  }),
  'schedule create': () => ({
    args: message('--to', '+14155550123', '--user', String(member()), '--is-email', 'false'),
    call: 'POST /v1/schedule',
    body: {
      ...body(),
      local_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      phone_number: '+14155550123',
      user_id: member(),
      is_email: false,
      content: { text: 'Hello\nyou' },
    },
    subject: 'message',
    outcome: 'answered',
  }),
  'schedule cancel': async () => {
    const id = await scheduled('--list', '5');
    const args = ['schedule', 'cancel', id];
    const before = await shownAs(id);
    const call = `DELETE /v1/schedule/${id}`;
    return { args, call, body: undefined, subject: 'message', outcome: 'answered', id: Number(id), before };
  },
  'conversations read': () => ({
    args: line(
      'conversations read --inbox INBOX --user MEMBER --target +14155550123,14155550124 --reassign STRANGER',
    ),
    call: 'POST /v1/conversations/read',
    body: {
      inbox_id: inbox().id,
      user_id: member(),
      reassign_id: stranger(),
      targets: ['+14155550123', '14155550124'],
    },
    subject: 'conversation_read',
    outcome: 'answered',
  }),
};
const prepare = async (name: string): Promise<Sending> => {
  const sending = await sends[name]?.();
  if (sending === undefined) throw new Error(`there is no command ${name}`);
  emulator.clearRequests();
  return sending;
};

/** What comes to which outcome is in `message-options.test.ts`. */
type Played = readonly [what: string, fault: Values, code: number, outcome: string, tag?: 'confirmed'];
const played: readonly Played[] = [
  ['400', { kind: 'status', code: 400, label: 'bad_data' }, 1, 'refused'],
  ['401', { kind: 'status', code: 401, label: 'Unauthorized' }, 77, 'refused'],
  ['408 of a proxy', { kind: 'status', code: 408 }, 5, 'unknown'],
  ['500 after the effect', { kind: 'status', code: 500, effect: 'applied' }, 5, 'unknown', 'confirmed'],
  ['lost request', { kind: 'reset-before' }, 5, 'unknown'],
  ['lost answer', { kind: 'reset-after' }, 5, 'unknown', 'confirmed'],
];

describe.each(Object.keys(sends))('musterd %s', (name) => {
  it('prints the fields of the request, sends the request once and prints its id, even without a mirror', async () => {
    const { args, call, body: expected } = await prepare(name);
    const { code, stdout, stderr } = await musterd([...args, '--yes'], {});
    expect({ code, writes: writes() }).toEqual({
      code: 0,
      writes: [{ call, body: expected, requestId: expect.anything() }],
    });
    const shown = stderr.slice(stderr.indexOf(`${call}\n`));
    for (const value of Object.values(expected ?? {}).flat())
      if (typeof value === 'string' || typeof value === 'number') expect(shown).toContain(String(value));
    expect(stdout).toContain(`X-Request-Id ${writes()[0]?.requestId}`);
  });

  it('records the request and its outcome in one row of the ledger', async () => {
    const { args, call, subject, outcome, id, before } = await prepare(name);
    const { code, result } = await json([...args, '--yes']);
    const [write, ...others] = writes();
    expect({ code, call: write?.call, others }).toEqual({ code: 0, call, others: [] });
    const sent = { ...(id === undefined ? {} : { id }), ...(write?.body as object | undefined) };
    expect(result).toMatchObject({ outcome, request_id: write?.requestId, sent: write?.body ?? { id } });
    if (subject !== 'conversation_read') expect(result['id']).toBeTypeOf('number');
    const old = before === undefined ? {} : { [subject]: before };
    expect(await ledger()).toEqual([
      row(old, { [subject]: sent }, { [subject]: outcome }, write?.requestId ?? ''),
    ]);
  });

  it('exits 64 without --yes, and sends and records nothing', async () => {
    const { args, call } = await prepare(name);
    const { code, stdout, stderr } = await musterd([...args, '--json']);
    expect({ code, writes: writes(), rows: await ledger() }).toEqual({ code: 64, writes: [], rows: [] });
    expect(stderr).toContain(`${call}\n`);
    expect(stderr).toContain('add --yes');
    expect(stdout).toContain('"code": "usage"');
  });

  // What one call sends and reads is one function: of the others a few show what they say and record.
  const some = played.filter(([what]) => name === 'tag create' || what === '400' || what === 'lost answer');
  it.each(some)('sends once, and records "refused" only for answers 400 and 401 (%s)', async (...given) => {
    const [, fault, code, outcome, ofTag] = given;
    const { args, call, subject } = await prepare(name);
    const [method, path] = call.split(' ');
    emulator.addFault({ ...(fault as object), method, path, times: 'always' } as Fault);
    const ended = await json([...args, '--yes']);
    const isConfirmed = subject === 'tag' && ofTag !== undefined;
    expect(writes()).toHaveLength(1);
    expect({ code: ended.code, rows: await outcomes() }).toEqual({
      code: isConfirmed ? 0 : code,
      rows: [[{ [subject]: isConfirmed ? ofTag : outcome }, true]],
    });
    if (outcome === 'refused') expect(ended.stderr).toMatch(/^refused: the service did nothing$/m);
    if (outcome === 'refused')
      expect(ended.result).toMatchObject({ error: { code: code === 77 ? 'credentials' : 'service' } });
    else expect(ended.result).toMatchObject({ outcome: isConfirmed ? ofTag : outcome });
    if (isConfirmed || outcome === 'refused') return;
    expect(ended.stderr).toMatch(
      /^unknown: check in the app before you send it again\n {2}\w+ .*\n {2}.*X-Request-Id/m,
    );
    if (subject === 'message') expect(ended.stderr).toContain(`local_id ${String(ended.result['local_id'])}`);
  });

  it('states in its help that the command sends at once, without an approval', async () => {
    const { stdout } = await musterd([...name.split(' '), '--help']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('sent at once, nobody approves');
  });
});

describe('a command that sends at once', () => {
  it('leaves the outcome "unknown" in the ledger if it is killed before the answer', async () => {
    emulator.addFault({ kind: 'stall', path: '/v1/schedule' });
    const { process: child, ended } = startMusterd([...message('--list', '5'), '--yes'], environment());
    await eventually('the request has arrived', () => writes().length === 1);
    child.kill('SIGKILL');
    await ended;
    const sent = { message: writes()[0]?.body };
    expect(await ledger()).toEqual([row({}, sent, { message: 'unknown' }, null, false)]);
  });

  it('exits 3 and sends nothing from a mirror that was adopted as a copy', async () => {
    await musterd(['adopt', '--as-copy', '--reason', 'staging', '--yes']);
    const { code, stderr } = await musterd([...message('--list', '5'), '--yes']);
    await musterd(['adopt', '--reason', 'home again', '--yes']);
    expect({ code, writes: writes() }).toEqual({ code: 3, writes: [] });
    expect(stderr).toContain('copy');
  });

  it('exits 78 and sends nothing with the credentials of another team', async () => {
    await sql(`insert into sync.teams (team, team_id) values ('default', 42)`);
    const { code } = await musterd([...message('--list', '5'), '--yes']);
    await sql('delete from sync.teams');
    expect({ code, writes: writes() }).toEqual({ code: 78, writes: [] });
  });

  it.each([
    ['insert', 1, 0, 'Nothing was sent: the ledger cannot be written'],
    ['update', 0, 1, 'Warning: the ledger has "unknown"'],
  ])(
    'sends a request only with the right to insert into the ledger (no %s right: exit code %i, %i requests)',
    async (event, code, count, words) => {
      const role = `teller_${process.pid}`;
      await sql(`create role ${role} login password 'for this test';
      grant usage on schema sync, mirror to ${role}; grant all on all tables in schema sync, mirror to ${role};
      alter role ${role} bypassrls; revoke ${event} on sync.changes from ${role}`);
      const own = loginAt(database.url, role, 'for this test');
      const ended = await musterd([...message('--list', '5'), '--yes'], { DATABASE_URL: own });
      await sql(`drop owned by ${role}; drop role ${role}`);
      expect({ stderr: ended.stderr, code: ended.code, count: writes().length }).toEqual({
        stderr: expect.stringContaining(words),
        code,
        count,
      });
    },
  );
});

describe('musterd tag create', () => {
  it('creates one tag if two commands create the same tag at once', async () => {
    const tags = async () => json(['tag', 'create', 'VIP', '--yes', '--wait', '30']);
    const [one, two] = await Promise.all([tags(), tags()]);
    expect(writes()).toHaveLength(1);
    expect([one, two].map(({ code }) => code)).toEqual([0, 0]);
    expect(new Set([one, two].map(({ result }) => result['outcome']))).toEqual(
      new Set(['confirmed', 'exists']),
    );
    expect(one.result['id']).toBe(two.result['id']);
  });

  it('exits 75 and sends nothing while another command holds the lease of the team', async () => {
    const lease = await takeLease(database.db, 'default', { ttlMs: 60_000 });
    const { code } = await musterd(['tag', 'create', 'VIP', '--yes', '--wait', '0']);
    await lease.release();
    expect({ code, writes: writes() }).toEqual({ code: 75, writes: [] });
  });

  it.each([[[]], [['--yes']]])(
    'sends nothing if a tag differs from the given name only in Unicode form or spaces (options: %j)',
    async (more) => {
      const { id } = emulator.team.addTag('Cafe\u0301  Bar ');
      const { code, stdout } = await musterd(['tag', 'create', ' Café Bar', ...more]);
      const words = `Nothing was sent: tag Café Bar exists already: id ${id}\n`;
      expect({ code, stdout, writes: writes() }).toEqual({ code: 0, stdout: words, writes: [] });
    },
  );

  it('exits 1 and sends nothing if the listing of tags is incomplete', async () => {
    emulator.addFault({ kind: 'status', code: 400, path: '/v1/tags', at: 4, times: 'always' });
    const { code, stderr } = await musterd(['tag', 'create', 'VIP', '--yes']);
    expect({ code, writes: writes() }).toEqual({ code: 1, writes: [] });
    expect(stderr).toMatch(/The listing of tags is incomplete \(.+\)\. Nothing was sent/);
  });

  it('exits 0 with a warning if the listing of tags cannot be read after the tag was created', async () => {
    emulator.before({ path: '/v1/tag' }, () => {
      emulator.addFault({ kind: 'status', code: 400, path: '/v1/tags', times: 'always' });
    });
    const { code, stderr } = await musterd(['tag', 'create', 'VIP', '--yes']);
    expect({ code, count: writes().length }).toEqual({ code: 0, count: 1 });
    expect(stderr).toContain(
      'Warning: the tags could not be read afterwards: POST /v1/tags was answered 400',
    );
    expect(await outcomes()).toEqual([[{ tag: 'answered' }, true]]);
  });

  it('creates a tag although the database of the embedded server was never migrated', async () => {
    using data = temporaryFolder();
    const more = { MUSTERD_DATA_DIR: data.path };
    expect((await musterd(['changes'], more)).code).toBe(1);
    expect(await musterd(['tag', 'create', 'VIP', '--yes'], more)).toMatchObject({ code: 0 });
  });

  it('warns of two tags with the same name if another program created the tag at the same time', async () => {
    emulator.addFault({ kind: 'doubled', path: '/v1/tag' });
    const { code, stderr } = await musterd(['tag', 'create', 'VIP', '--yes'], {});
    expect(code).toBe(0);
    expect(stderr).toMatch(/Warning: the service has 2 tags of this name: \d+, \d+/);
  });
});

describe('musterd schedule', () => {
  it('cancel exits 64 and cancels nothing if the message changes before the person confirms', async () => {
    const id = await scheduled('--list', '5');
    let reads = 0;
    emulator.before({ path: `/v1/schedule/${id}`, method: 'GET', times: 'always' }, async () => {
      reads += 1;
      const fields = [
        '--field',
        `execute_at=2031-01-15T09:00:00Z`,
        '--field',
        'list_id=5',
        '--field',
        'content[text]=x',
      ];
      const inboxId = ['--field', `inbox_id=${inbox().id}`];
      if (reads === 2) await musterd(['api', 'PUT', `/v1/schedule/${id}`, ...fields, ...inboxId], {});
    });
    const { code, stderr } = await musterd(['schedule', 'cancel', id, '--yes'], {});
    expect(writes().map(({ call }) => call)).toEqual(['POST /v1/schedule', `PUT /v1/schedule/${id}`]);
    expect({ code, stderr }).toEqual({
      code: 64,
      stderr: expect.stringContaining(`message ${id} changed before you agreed`),
    });
  });

  it('cancel exits 64 and sends nothing if the message is already cancelled', async () => {
    emulator.setVariants({ 'cancelled-read': 'shown' });
    const id = await scheduled('--list', '5');
    await musterd(['schedule', 'cancel', id, '--yes'], {});
    expect(await musterd(['schedule', 'cancel', id, '--yes'], {})).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(`Message ${id} is cancelled already`),
    });
    expect(writes()).toHaveLength(2);
    emulator.setVariants({ 'cancelled-read': 'missing' });
  });
});

it('schedule create accepts an inbox only by its id if the service does not list its inboxes', async () => {
  emulator.addFault({ kind: 'status', code: 404, path: '/v1/inboxes', times: 'always' });
  const yes = ['--list', '5', '--yes'];
  expect(await musterd(message(...yes), {})).toMatchObject({ code: 0 });
  const { code, stderr } = await musterd(['schedule', 'create', '--inbox', 'Front desk', ...yes], {});
  expect({ code, stderr }).toEqual({
    code: 64,
    stderr: expect.stringContaining('does not list its inboxes'),
  });
});

it('schedule create prints invisible characters of the text as their code points', async () => {
  const text = 'a\u200d\u202eb ';
  const at = ['--at', '2031-01-15T08:00:00Z', '--text', text, '--list', '5', '--yes'];
  const { stderr } = await musterd([...line('schedule create --inbox INBOX'), ...at], {});
  expect(stderr).toContain('a\\u{200d}\\u{202e}b\\u{20}\n');
});

describe('a command with wrong arguments', () => {
  const late = () => new Date(Math.ceil(Date.now() / 900_000) * 900_000).toISOString();
  const create = 'schedule create --inbox INBOX --at 2031-01-15T08:00:00Z';
  const read = 'conversations read --inbox INBOX';

  it.each([
    ['schedule create --inbox x', 'No inbox is called "x"\n  Give the id or the name of one:\n  4'],
    ['schedule create --at 2031-01-15T08:00Z', 'Name the inbox that sends it: --inbox'],
    ['schedule create --inbox INBOX --list 5 --text x', 'Give the time to send it: --at'],
    [`${create} --user nobody`, 'No user matches "nobody"\n  Give an id, an email, a phone number or a'],
    [`${create} --user e`, 'No user matches "e"\n  Did you mean one of these? Name one by the id:\n'],
    [`${create} --user STRANGER`, 'is not a member of inbox'],
    ['schedule create --inbox INBOX --list 5 --text x --at LATE', 'execute_at is less than 15 minutes ahead'],
    [`${create} --list 5 --text x --at 2031-01-15T08:00:00Z`, '--at is given twice'],
    [`${create} --list 5`, 'content has no text, no template, no attachment and no gallery'],
    ['schedule cancel 12', 'The service has no scheduled message 12'],
    ['tag create \u00a0', 'A tag needs a name of 1 to 300 characters'],
    [`tag create ${'x'.repeat(301)}`, 'A tag needs a name of 1 to 300 characters'],
    [read, '--inbox and --user'],
    [`${read} --user 1`, 'Name the partner of the conversation: --target'],
    [`${read} --user MEMBER --target 1 --target 1`, '--target has 1 twice'],
    [`${read} --user STRANGER --target 1`, 'is not a member of inbox'],
    [`${read} --user MEMBER --target 1 --reassign nobody`, 'No user matches "nobody"'],
  ])('musterd exits 64 for "%s", sends nothing and prints "%s"', async (text, words) => {
    const args = line(text.replace('LATE', late()));
    const { code, stderr } = await musterd([...args, '--yes'], {});
    expect({ code, writes: writes(), stderr }).toEqual({
      code: 64,
      writes: [],
      stderr: expect.stringContaining(words),
    });
  });
});
