/** What the page's forms carry, and what is decided by them: the page and its database, without a service. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { showTimesIn } from '../../src/model/zone-time.ts';
import { type Config, configSchema } from '../../src/config/config.ts';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { approve, reject } from '../../src/runs/decide/approve-batch.ts';
import type { Setup } from '../../src/runs/open.ts';
import { resolve, resolveAll } from '../../src/runs/decide/resolve-field.ts';
import { readDecisionForm, requireReadable } from '../../src/page/serve/decision-form.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { useDatabase } from '../support/use-database.ts';
import { buttonOf, createVisitor, type PageForm, servePageOf } from '../system/agreed/page-forms.ts';

const token = 'a token of the page for tests';
const batch = 'abcabcabcabc';
const log = { warn: () => {}, info: () => {}, debug: () => {}, error: () => {} } as unknown as Setup['log'];

const configOf = (push: Readonly<Record<string, unknown>> = {}): Config =>
  configSchema.parse({ push, status: { details: true } });

const database = useDatabase();
/** As a person writes, and as a run would have written it. */
const { rows: rowsOf, force: owned } = database;
let config = configOf();
const warnings: object[] = [];
let server: Awaited<ReturnType<typeof servePageOf>>;
let dora: ReturnType<typeof createVisitor>;

/** Holds the edits of these users as they are. @param of absent: each is a conflict by itself */
const hold = (ids: readonly number[], of?: string) =>
  owned(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch)
    select e.team_id, e.user_id, e.field, e.edit_id, '${of === undefined ? 'conflict' : 'review'}', e.old_value, e.new_value,
      s.value, s.value, ${of === undefined ? 'null' : `'${of}'`}
    from sync.edits e
    cross join lateral (select case e.field when 'name' then to_jsonb(mirror.field_text(e.old_value)) else e.old_value end as value) s
    where e.ended_at is null and e.user_id in (${ids.join(', ')})`);

/** Edits of these users, as this person. */
const edit = (ids: readonly number[], set: string, by = 'somebody') =>
  rowsOf(`begin; set local musterd.actor = '${by}';
    update mirror.users set ${set} where id in (${ids.join(', ')}); commit`);
const ada = `email = 'ada@example.com'`;
/** An email of one user, which both sides changed. */
async function openAda() {
  await edit([20], ada);
  await hold([20]);
}

/** A batch of four edits, two of them of one user. */
async function openBatch(): Promise<PageForm> {
  await edit(
    [11, 12, 13],
    `email = 'new' || id || '@example.com', phone = case when id = 11 then '15550177' else phone end`,
  );
  await hold([11, 12, 13], batch);
  return await formAt(`/waiting/${batch}`, 'Approve');
}

function formWith(forms: readonly PageForm[], words: string): PageForm {
  const form = forms.find((one) => buttonOf(one, words) !== undefined);
  if (form === undefined) throw new Error(`There is no form "${words}".`);
  return form;
}
const formAt = async (path: string, words: string) => formWith((await dora.ask(path)).forms, words);

/** The same form with another value of a field; without one, without the field. */
const withField = (form: PageForm, name: string, ...values: readonly string[]): PageForm => ({
  ...form,
  ticks: form.ticks.filter(({ pair }) => pair[0] !== name),
  hidden: [...form.hidden.filter(([one]) => one !== name), ...values.map((value) => [name, value] as const)],
});
/** The form with a button that no page has there. */
const withVerb = (form: PageForm, verb: string): PageForm => ({
  ...form,
  buttons: [{ words: 'Send', pair: ['verb', verb] }],
});

/** Presses: what is asked, and the form that confirms it. */
async function press(form: PageForm, words: string, ticked?: (row: string) => boolean) {
  const asked = await dora.press(form, words, ticked);
  const question = asked.forms.find(({ asksWhy }) => asksWhy);
  if (question === undefined) throw new Error(`Nothing was asked: ${asked.text}`);
  return { asked, question };
}
/** Presses, and confirms. */
async function decide(form: PageForm, words: string, ticked?: (row: string) => boolean) {
  const { asked, question } = await press(form, words, ticked);
  return { asked, done: await dora.press(question, words) };
}
const receiptOf = async ({ location }: { readonly location: string | null }) =>
  (await dora.ask(location ?? '')).text;

/** What the functions need that decide, without a service. */
const setup = (): Setup => ({ config, log, mirror: { db: database.db } as Setup['mirror'] });

const reasons = () =>
  rowsOf('select user_id, field, reason from report.held where batch is not null order by 1, 2').then(
    (rows) => rows.map((row) => row.join(' ')),
  );
const decisions = () =>
  rowsOf('select decision, user_id, field from report.decisions order by 2, 3').then((rows) =>
    rows.map((row) => row.join(' ')),
  );

const withPeople = (people: Config['status']['people']): Config => ({
  ...config,
  status: { ...config.status, people },
});

async function visit(name: string, may: 'look' | 'decide' = 'decide', others = 'decide' as typeof may) {
  await server?.close();
  server = await servePageOf(
    database.db,
    () => [withPeople({ [name]: { token, may }, ann: { token: 'the token of ann alone', may: others } })],
    (fields) => void warnings.push(fields),
  );
  dora = createVisitor(server.origin, token, name);
}

beforeAll(async () => {
  await fillMirror(database.db, [{ ...largeTeam, users: 80, changes: 80, tags: 1, days: 1 }]);
  await owned(`delete from sync.held_fields; delete from sync.changes where kind = 'approve'`);
  await visit('dora');
});
afterEach(async () => {
  config = configOf();
  await owned(`delete from sync.held_fields; delete from sync.edits; delete from sync.changes where kind in ('approve', 'reject', 'resolve', 'undo') or kind = 'push' and edits <> '{}';
    update sync.teams set four_eyes = false;
    update mirror.users u set first_name = b.first_name, last_name = b.last_name, email = b.email, phone = b.phone, role_id = b.role_id
    from sync.user_base b where b.team_id = u.team_id and b.id = u.id`);
});
afterAll(() => server.close());

describe('taking back a run on the page', () => {
  let run = 0n;
  /** It has sent an email and a phone of these users, of whom the last was edited again. */
  beforeEach(async () => {
    const [[id] = []] =
      await rowsOf(`insert into sync.runs (team, team_id, command, outcome, counts, finished_at)
      values ('default', 41, 'daemon', 'complete', '{"pushed": 3}', now()) returning run_id`);
    run = id as bigint;
    await owned(`update sync.user_base set email = 'sent' || id || '@example.com' where id in (11, 12, 13);
      update mirror.users set email = 'sent' || id || '@example.com' where id in (11, 12, 13);
      insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, edits, outcome, closed_at)
      select 41, n, ${run}, 'push', 'closed', o, o, v, '{"email": 1}', '{"email": "confirmed"}', now()
      from generate_series(11, 13) n
      cross join lateral (select jsonb_build_object('email', 'user' || n || '@example.com') as o, jsonb_build_object('email', 'sent' || n || '@example.com') as v) x`);
    await rowsOf(`update mirror.users set email = 'later@example.com' where id = 13`);
  });
  afterEach(() =>
    owned(`update sync.user_base set email = 'user' || id || '@example.com' where id in (11, 12, 13);
      delete from sync.changes where run_id = ${run}; delete from sync.runs where run_id = ${run}`),
  );
  const emails = () =>
    rowsOf('select email from mirror.users where id in (11, 12, 13) order by id').then((rows) => rows.flat());
  const sent = ['sent11@example.com', 'sent12@example.com', 'later@example.com'];
  const before = ['user11@example.com', 'user12@example.com', 'later@example.com'];

  const question = async () => {
    const { asked, question } = await press(await formAt(`/runs/${run}`, 'Take back'), 'Take back what run');
    return { text: asked.text, form: question };
  };

  it('shows the values to restore, and after a confirmation restores the values as approved edits of the login', async () => {
    const { text, form } = await question();
    expect(text).toContain('Take back 2?');
    expect(text).toMatch(/sent12@example\.com\s*user12@example\.com/);
    expect(text).toContain('Left as it is: 1 edited since.');
    expect(text).toContain('2 email addresses, of 2 peopleSent as any other edit');
    expect(await emails()).toEqual(sent);
    expect(await receiptOf(await dora.press(form, 'Take back 2'))).toMatch(
      /2 email addresses approved by you at [\w :]+\. 2 waiting\..*Reason: a test/s,
    );
    expect(await emails()).toEqual(before);
    const byDora = [expect.stringMatching(/^dora\b/)];
    expect(
      await rowsOf(`select edited_by from report.pending where field = 'email' and user_id in (11, 12)`),
    ).toEqual([byDora, byDora]);
  });

  it('restores nothing if one of the values was edited between the question and the confirmation', async () => {
    const { form } = await question();
    await edit([12], `email = 'mine@example.com'`);
    const { text } = await dora.press(form, 'Take back 2');
    expect(text).toContain('Nothing was decided. The values that the run moved changed again');
    expect(text).toContain('What it moved');
    expect((await emails())[0]).toBe('sent11@example.com');
    await edit([11], `email = 'mine@example.com'`);
    const nothing = await dora.press(await formAt(`/runs/${run}`, 'Take back'), 'Take back what run');
    expect(nothing.text).toContain('has nothing to take back. Left as it is: 3 edited since.');
  });

  it('with push.fourEyes, restores the values in the mirror, but requires the approval of a second person', async () => {
    config = configOf({ fourEyes: true });
    await visit('dora');
    const { text, form } = await question();
    expect(text).toContain('The next run sends them if nobody else has to approve them.');
    const done = await dora.press(form, 'Take back 2');
    expect(done.text).toContain('The values are set back in the mirror. Somebody else has to approve this');
    expect([done.status, await emails(), await decisions()]).toEqual([303, before, []]);
  });

  it('instead of the button, shows who may decide, or the command if every login may only look', async () => {
    await visit('dora', 'look');
    const { forms, text } = await dora.ask(`/runs/${run}`);
    expect([forms.length, text.includes('You may look, and ann may decide (status.people).')]).toEqual([
      0,
      true,
    ]);
    await visit('dora', 'look', 'look');
    expect((await dora.ask(`/runs/${run}`)).text).toContain(
      `musterd undo ${run} shows what it would set back.`,
    );
    await visit('dora');
  });
});

describe('the form of a waiting batch', () => {
  it('asks for a confirmation of the ticked rows, and decides only the ticked rows', async () => {
    const form = await openBatch();
    expect(form.ticks.map(({ pair: [name] }) => name)).toEqual(['row', 'row', 'row', 'row']);
    const { asked, done } = await decide(form, 'Reject', (row) => row.includes('15550177'));
    expect(asked.text).toContain('Reject the phone of Robin Reed11?');
    expect(asked.text).toMatch(/Robin Reed11 11\s*phone\s*15550000011\s*15550177/);
    expect(done.status).toBe(303);
    expect(await decisions()).toEqual(['reject 11 phone']);
    expect(await reasons()).toEqual(['11 email review', '12 email review', '13 email review']);
  });

  it('opens a receipt after the decision, and every login can see the outcome of the edits on this receipt', async () => {
    const { done } = await decide(await openBatch(), 'Approve');
    const receipt = () => receiptOf(done);
    expect(await receipt()).toMatch(
      /4 fields \(email and phone\) approved by you at [\w :]+\. 4 waiting\. No daemon runs, so nothing is sent before somebody begins one, or: musterd reconcile/,
    );
    expect(await receipt()).toContain(`Reason: a testmusterd reject ${batch} takes back what has not left.`);
    await edit([12], `email = 'later@example.com'`);
    await owned(`insert into sync.changes (team_id, user_id, kind, state, base, old, new, edits, outcome, run_id, closed_at)
      select team_id, user_id, 'push', 'closed', base, old, new, edits, '{"email": "confirmed"}', (select max(run_id) from sync.runs), clock_timestamp()
      from sync.changes where kind = 'approve' and user_id = 13;
      update sync.edits set ended_at = now(), ended_how = 'agreed' where user_id = 13 and ended_at is null;
      update sync.held_fields set reason = 'refused', decision = null, detail = 'no such number' where user_id = 11 and field = 'phone'`);
    expect(await receipt()).toMatch(/1 needs a decision \(refused by the service: no such number/);
    expect(await receipt()).toContain('1 no longer wanted (somebody has edited the field again)');
    await visit('carol');
    expect(await receipt()).toContain('approved by dora at');
    expect((await dora.ask('/waiting')).text).toMatch(/Decided last.*dora\s*4 fields/s);
    for (const other of ['1', 'x', '9'.repeat(30)])
      expect((await dora.ask(`/waiting?done=${other}`)).text).not.toContain('Reason: a test');
    await visit('dora');
  });

  it('decides nothing if a ticked row has changed or is from another list, and keeps the ticks of unchanged rows (S31)', async () => {
    const form = await openBatch();
    await edit([14], `email = 'other@example.com'`);
    await hold([14]);
    const other = (await formAt('/waiting?state=conflict', 'Take the')).ticks[0]?.pair[1];
    const foreign = withField(form, 'row', form.ticks[0]?.pair[1] ?? '', String(other));
    const { status, text } = await dora.press(foreign, 'Approve');
    expect(status).toBe(303);
    expect(text).toContain('Nothing was decided. 1 of the 2 rows were edited, or changed on the service');
    expect(text).toContain('new11@example.com');
    const { question } = await press(form, 'Approve');
    expect((await dora.press(withField(question, 'row', String(other)), 'Approve')).text).toContain(
      'Nothing was decided',
    );
    await owned(`update sync.held_fields set shown_value = '"later@example.com"' where user_id = 12`);
    const moved = await dora.press(question, 'Approve');
    expect(moved.text).toMatch(/1 of the 4 rows.*The other rows are ticked/s);
    expect(moved.checked.length).toBe(3);
    expect(await decisions()).toEqual([]);
  });

  it('shows the list again with a request to tick rows if no row is ticked, also if the form names another site', async () => {
    const form = await openBatch();
    const { status, text, forms } = await dora.press(form, 'Approve', () => false);
    expect([status, forms.length]).toEqual([303, 1]);
    expect(text).toContain('No row is ticked. Tick those that you want to decide.');
    const strange = withField(form, 'back', '//example.com');
    expect((await dora.press(strange, 'Approve', () => false)).text).toContain('No row is ticked.');
  });

  it('links the confirmation page back to the list with the same rows ticked', async () => {
    const { asked } = await press(await openBatch(), 'Approve', (row) => row.includes('new12'));
    const [back = ''] = asked.links.filter((link) => link.includes('ticks='));
    const again = await dora.ask(back);
    expect(again.checked.map((row) => /new\d+/.exec(row)?.[0])).toEqual(['new12']);
  });

  it('does not approve missing users as gone if fewer users are missing now than the form showed', async () => {
    const missing = 'cccccccccccc';
    await owned(`insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
      select 41, 'users', id, now(), '${missing}', 'too many', now() from unnest(array[12, 13]) id`);
    const form = await formAt('/waiting', 'Approve 2');
    expect(form.hidden).toContainEqual(['rows', '2']);
    const { question } = await press(form, 'Approve');
    await owned('delete from sync.absences where id = 13');
    const { status, text } = await dora.press(question, 'Approve');
    expect([status, text]).toEqual([303, expect.stringContaining('It has 1 rows now, not 2')]);
    const choice = { batch: missing, only: null, rows: 2, why: 'a test', actor: 'dora' };
    await expect(approve(setup(), choice)).rejects.toThrow('has 1 row now; 2 were shown');
    expect(await decisions()).toEqual([]);
    await owned('delete from sync.absences');
  });

  it('decides nothing if a person put one of the rows on hold after the form was shown', async () => {
    const form = await openBatch();
    await owned(`update sync.held_fields set until = '2100-01-01', asked_by = 'carol' where user_id = 12`);
    const { status, text } = await dora.press(form, 'Approve');
    expect([status, text]).toEqual([303, expect.stringContaining('1 of the 4 rows were edited')]);
  });

  it('keeps an earlier approval when the remaining rows of the batch are rejected', async () => {
    await decide(await openBatch(), 'Approve', (row) => row.includes('new11'));
    await decide(await formAt('/waiting', 'Reject'), 'Reject');
    expect(await decisions()).toEqual([
      'approve 11 email',
      'reject 11 phone',
      'reject 12 email',
      'reject 13 email',
    ]);
  });
});

describe('the form of one held field', () => {
  const edits = [
    ['name', `first_name = 'Ada', last_name = 'Berg'`],
    ['email', `email = 'ada@example.com'`],
    ['phone', `phone = '15550100'`],
    ['role_id', 'role_id = 2'],
  ] as const;
  it.each(edits)(
    'resolves a held %s to the service’s value, on the list of waiting rows and on the page of the user',
    async (_, values) => {
      for (const path of ['/waiting', '/people/default/20']) {
        await edit([20], values);
        await hold([20]);
        const form = await formAt(path, 'Take the service’s');
        const { done } = await decide(form, 'Take the service’s');
        expect([path, done.status]).toEqual([path, 303]);
        expect(await receiptOf(done)).toMatch(
          /1 (name|email address|phone number|role) to be as on the service by you at .*1 no longer wanted\./,
        );
        await owned('delete from sync.held_fields; delete from sync.edits');
      }
    },
  );

  it.each([
    ['the edit', () => edit([20], `email = 'later@example.com'`), 'Nothing needs a decision'],
    [
      'the value of the mirror',
      () => owned(`update mirror.users set email = 'later@example.com' where id = 20`),
      'later@',
    ],
    [
      'the value of the service',
      () => owned(`update sync.held_fields set shown_value = '"later@example.com"'`),
      'later@',
    ],
  ])('rejects an old form if %s has changed since, and shows the change', async (_, change, shown) => {
    await openAda();
    const form = await formAt('/waiting', 'Take the mirror’s');
    const { question } = await press(form, 'Take the mirror’s');
    await change();
    for (const one of [form, question]) {
      const { status, text } = await dora.press(one, 'Take the mirror’s');
      expect([status, text]).toEqual([
        303,
        expect.stringContaining('Nothing was decided. It was edited, or changed on the service'),
      ]);
      expect(text).toContain(shown);
    }
    expect(await decisions()).toEqual([]);
  });

  it('opens a receipt that omits an earlier refusal by the service if the refused field is sent again', async () => {
    await openAda();
    await owned(`insert into sync.changes (team_id, user_id, kind, new, edits, outcome, closed_at)
      select team_id, user_id, 'push', '{"email": "ada@example.com"}', jsonb_build_object('email', edit_id), '{"email": "refused"}', now()
      from sync.edits where user_id = 20 and ended_at is null`);
    const form = await formAt('/waiting', 'Take the mirror’s');
    const text = await receiptOf((await decide(form, 'Take the mirror’s')).done);
    expect(text).toContain('1 email address to be as in the mirror by you');
    expect(text).not.toContain('refused');
  });
});

describe('a third value, typed on the page', () => {
  afterAll(() => visit('dora'));

  it.each([
    ['in a batch', `update sync.held_fields set reason = 'review', batch = '${batch}'`],
    ['outside of a batch', 'select'],
  ])(
    'records a role that a login types for a field held %s as an edit of this login, without an approval',
    async (_, held) => {
      config = configOf({ approve: 'always', fourEyes: true });
      await visit('admin');
      await edit([20], 'role_id = 2');
      await hold([20]);
      const form = await formAt('/waiting', 'Take the mirror’s');
      await owned(held);
      const { question } = await press(withVerb(form, 'value'), 'Send');
      const done = await dora.press(withField(question, 'value', '3'), 'Make this edit');
      expect(done.status).toBe(303);
      expect(await rowsOf('select role_id from mirror.users where id = 20')).toEqual([[3n]]);
      expect(
        await rowsOf(`select new_value, actor from sync.edits where user_id = 20 and ended_at is null`),
      ).toEqual([[3, 'admin']]);
      expect(await rowsOf('select 1 from sync.held_fields where decision is not null')).toEqual([]);
      // As the next run writes it.
      await owned('delete from sync.held_fields');
      await hold([20], batch);
      const { text, forms: own } = await dora.ask(`/waiting/${batch}`);
      expect(text).toContain('Your own edit: somebody else has to approve it.');
      expect(own.flatMap(({ ticks }) => ticks)).toEqual([]);
      expect(await rowsOf('select 1 from sync.held_fields where decision is not null')).toEqual([]);
    },
  );
});

describe('a long list of held fields', () => {
  const ids = Array.from({ length: 28 }, (_, i) => i + 4);
  const openMany = async () => {
    await edit(ids, `phone = '4155' || id`);
    await edit([4, 5], `email = 'a' || id || '@example.com'`, 'anna');
    await hold(ids);
  };

  it('shows four rows without a form among all lists, and all 30 rows with a form on the page of the list', async () => {
    await openMany();
    const { text, forms, links } = await dora.ask('/waiting');
    expect(text).toContain(`${ids.length} phone numbers and 2 email addresses: changed on both sides`);
    expect([forms, text.includes(`4 of ${ids.length + 2} shown`)]).toEqual([[], true]);
    expect(links).toContain('/waiting?state=conflict');
    const alone = await dora.ask('/waiting?state=conflict');
    const form = formWith(alone.forms, 'Take the mirror’s');
    expect([form.ticks.length, alone.checked]).toEqual([ids.length + 2, []]);
    expect((await dora.ask('/waiting?state=conflict&ticks=all')).checked.length).toBe(ids.length + 2);
  });

  it('filters and sorts rows by the query of the address, and decides only the rows that are shown', async () => {
    await openMany();
    const { text } = await dora.ask('/waiting?state=conflict&field=email');
    expect(text).toMatch(/Edited here by somebody \(28\), anna \(2\)/);
    expect((await formAt('/waiting?state=conflict&editedBy=anna', 'Take the')).ticks.length).toBe(2);
    expect(text).toContain('phone (28)');
    expect(text).not.toContain('41554');
    const form = await formAt('/waiting?state=conflict&field=email&sort=-person', 'Take the service’s');
    expect(form.ticks.map(({ pair }) => pair[1].split('.').slice(0, 2).join(' '))).toEqual([
      '5 email',
      '4 email',
    ]);
    const { asked, done } = await decide(form, 'Take the service’s');
    expect(asked.text).toContain(`Take the service’s 2 of ${ids.length + 2}?`);
    expect(asked.text).toContain('The mirror gets the value of the service; nothing is sent.');
    expect(asked.text).toContain(`Still waiting: ${ids.length}.`);
    expect(await receiptOf(done)).toMatch(
      /2 email addresses to be as on the service by you at .*2 no longer wanted\./,
    );
    expect(await decisions()).toEqual(['resolve 4 email', 'resolve 5 email']);
    expect(await rowsOf('select count(distinct decision_id) from report.decisions')).toEqual([[1n]]);
  });

  it('shows at most 200 rows on a page, and decides only the rows of the shown page', async () => {
    const all = Array.from({ length: 68 }, (_, i) => i + 11);
    await edit(all, `phone = '4155' || id, email = id || '@new.example', role_id = 1 + role_id % 4`);
    await hold(all);
    const first = await dora.ask('/waiting?state=conflict');
    expect(first.text).toMatch(/1 to 200 of 204.*A decision is about this page\. Rows without/s);
    expect(formWith(first.forms, 'Take the mirror’s').ticks.length).toBe(200);
    expect(first.links).toContain('/waiting?state=conflict&page=200');
    const emails = await dora.ask('/waiting?state=conflict&field=email');
    expect(emails.text).not.toContain('about this page');
    expect(formWith(emails.forms, 'Take').ticks.length).toBe(68);
    const { text, forms, links } = await dora.ask('/waiting?state=conflict&page=200');
    expect(text).toContain('201 to 204 of 204');
    expect(links.filter((link) => link.includes('page=400'))).toEqual([]);
    const { asked } = await decide(formWith(forms, 'Take the service’s'), 'Take the service’s');
    expect(asked.text).toContain('Still waiting: 200.');
    expect((await decisions()).length).toBe(4);
  });

  it('preselects all rows held by a batch limit if one transaction edited all of them, and otherwise no row', async () => {
    const role = 'role_id = 1 + role_id % 4';
    await edit([11, 12], role);
    await hold([11, 12]);
    const limited = `update sync.held_fields set reason = 'limit', detail = '2 roles would change in one run, more than 1'`;
    await owned(limited);
    const both = await dora.ask('/waiting?state=limit');
    expect(both.checked.length).toBe(2);
    expect(both.text).toContain('2 roles would change in one run, more than 1. Not sent until');
    expect((await dora.ask('/waiting?state=limit&ticks=none')).checked.length).toBe(0);
    await edit([13], role);
    await hold([13]);
    await owned(limited);
    expect((await dora.ask('/waiting?state=limit')).checked.length).toBe(0);
    await owned(
      `update sync.held_fields set edit_id = null where user_id = 13; delete from sync.edits where user_id = 13`,
    );
    expect((await dora.ask('/waiting?state=limit')).checked.length).toBe(0);
  });

  it('shows the names of roles in the list and on the confirmation page', async () => {
    await owned(`insert into mirror.roles (team_id, role_id, name, members) values (41, 7, 'Night Shift', 0)
      on conflict (team_id, role_id) do update set name = excluded.name`);
    await edit([20], 'role_id = 7');
    await hold([20]);
    const list = await dora.ask('/waiting');
    expect(list.text).toMatch(/1 Administrator\s*7 Night Shift\s*same/);
    const { asked } = await press(formWith(list.forms, 'Take the mirror’s'), 'Take the mirror’s');
    expect(asked.text).toMatch(/7 Night Shift/);
    await owned(`delete from mirror.roles where role_id = 7`);
  });

  it('decides none of the submitted rows if one row has changed since the form was shown', async () => {
    await openMany();
    const form = await formAt('/waiting?state=conflict', 'Take the mirror’s');
    const { question } = await press(form, 'Take the mirror’s');
    const shown = question.hidden.flatMap(([name, key]) => (name === 'row' ? [key.split('.')] : []));
    const all = shown.map(([id = '', field = '', digest = ''], i) => ({
      id: BigInt(id),
      field: field as 'email' | 'phone',
      take: 'mirror' as const,
      seen: { kind: 'shown', digest: i === 7 ? '0123456789ab' : digest } as const,
      why: 'a test',
      actor: 'dora',
    }));
    await expect(resolveAll(setup(), all)).rejects.toThrow('has changed since it was shown');
    expect(await decisions()).toEqual([]);
  });
});

describe('the receipt of a decision', () => {
  afterEach(() =>
    owned(`update sync.user_base set email = 'user' || id || '@example.com', phone = (15550000000 + id)::text where id in (11, 12, 13, 20);
      update mirror.users set email = 'user' || id || '@example.com', phone = (15550000000 + id)::text where id in (11, 12, 13, 20)`),
  );
  const approved = async () => (await decide(await openBatch(), 'Approve')).done.location ?? '';

  it('links to a list of all values that its decision approved and sent, and no other values', async () => {
    const receipt = await approved();
    // With one of them another field was sent, and somebody else besides.
    await owned(`insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, edits, outcome, closed_at)
      select c.team_id, c.user_id, (select max(run_id) from sync.runs), 'push', 'closed', c.base, c.old, c.new, c.edits,
        (select jsonb_object_agg(f, 'confirmed') from jsonb_object_keys(c.new) f), clock_timestamp()
      from sync.changes c where c.decision_id is not null and c.user_id in (11, 12, 13);
      delete from sync.held_fields where user_id in (11, 12, 13);
      update sync.edits set ended_at = now(), ended_how = 'agreed' where user_id in (11, 12, 13) and ended_at is null;
      update sync.changes set old = old || '{"role_id": 1}', new = new || '{"role_id": 2}' where kind = 'push' and user_id = 11;
      insert into sync.changes (team_id, user_id, run_id, kind, old, new, edits, outcome)
      select team_id, 30, run_id, kind, old, new, edits, outcome from sync.changes, generate_series(1, 60)
      where kind = 'push' and user_id = 12`);
    const { text, links } = await dora.ask(receipt);
    expect(text).toMatch(/4 confirmed\. Run [\d,]+.*With valuesCloseTake back what run [\d,]+ has moved…/s);
    const values = links.find((link) => link.startsWith('/changes?decision=')) ?? '';
    const { text: shown } = await dora.ask(values);
    expect(shown).toMatch(/8 rows, and none older/);
    expect(shown.split('pushed').length).toBe(1 + 4 + 1);
  });

  it('describes a rejection and a withdrawal, and marks an approved edit that was withdrawn later as no longer wanted', async () => {
    const { done } = await decide(await openBatch(), 'Reject', (row) => row.includes('new12'));
    expect(await receiptOf(done)).toMatch(/1 email address rejected by you at [\w :]+\. 1 rejected\./);
    const choice = { batch, why: 'a test', actor: 'dora', only: ['13.email'] };
    const { decision: first } = await approve(setup(), choice);
    const { decision: last } = await reject(setup(), { ...choice, revert: true });
    expect((await dora.ask(`/waiting?done=${last}`)).text).toMatch(
      /1 email address put back to what both sides last agreed on by you at/,
    );
    expect((await dora.ask(`/waiting?done=${first}`)).text).toMatch(
      /1 email address approved by you at [\w :]+\. 1 no longer wanted \(it was taken back here\)/,
    );
  });

  it('does not open for an undo that version 0.1.0 recorded, but the list of changes contains the undo', async () => {
    const receipt = await approved();
    await owned(`insert into sync.changes (team_id, user_id, kind, base, old, new, edits, closed_at, decision_id)
      select team_id, user_id, 'undo', base, old, new, edits, now(), (select max(decision_id) + 1 from sync.changes)
      from sync.changes where kind = 'approve';
      update sync.held_fields set decision = null`);
    const number = Number(/\d+$/.exec(receipt)?.[0]);
    expect((await dora.ask(receipt)).text).toMatch(
      /4 fields .* approved by you at [\w :]+\. 4 need a decision/,
    );
    const { text } = await dora.ask(`/waiting?done=${number + 1}`);
    expect(text).toMatch(/Decided last.*you4 fields/s);
    expect(text).not.toContain('Close');
    expect((await dora.ask(`/changes?decision=${number + 1}`)).text).toMatch(/taken back.*4 rows/s);
  });

  it('names the user, the field and the value if a login typed a third value', async () => {
    await openAda();
    const form = await formAt('/waiting', 'Take the mirror’s');
    const { asked, question } = await press(withVerb(form, 'value'), 'Send');
    expect(asked.text).toContain('The email that is to stand');
    expect(question.typed).toEqual(['value', 'why']);
    const done = await dora.press(withField(question, 'value', 'other@example.com'), 'Make');
    expect(await receiptOf(done)).toMatch(
      /Email of Robin Reed20 set to other@example\.com by you at .*\. No daemon runs/s,
    );
  });

  it('disappears from the waiting page after a day, but the list of changes still contains the decision', async () => {
    const receipt = await approved();
    await owned(
      `update sync.changes set opened_at = now() - interval '25 hours' where decision_id is not null`,
    );
    const { text, links } = await dora.ask(receipt);
    expect(text).not.toContain('Reason: a test');
    expect(text).toMatch(/Decided last.*4 fields/s);
    const [number] = /\d+$/.exec(receipt) ?? [];
    expect(links).toContain(`/changes?decision=${number}`);
    expect((await dora.ask(`/changes?decision=${number}`)).text).toMatch(/4 rows/);
  });
});

describe('a malformed form', () => {
  const read = (form: URLSearchParams) => {
    requireReadable(form);
    return readDecisionForm(form);
  };
  const rows = ['11.email.0123456789ab', '12.email.0123456789ab'];
  const ofBatch = { verb: ['approve'], batch: [batch], rows: ['2'], ticks: ['on'], row: rows };
  const ofField = { ...ofBatch, verb: ['mirror'], batch: [''], row: rows.slice(0, 1) };
  const filled = (fields: Readonly<Record<string, readonly string[]>>) =>
    new URLSearchParams(
      Object.entries(fields).flatMap(([name, all]) => all.map((value): [string, string] => [name, value])),
    );

  it.each([
    [ofBatch, 'verb', ['Perhaps']],
    [ofBatch, 'verb', ['approve', 'reject']],
    [ofBatch, 'verb', ['value']],
    [ofBatch, 'rows', []],
    [ofBatch, 'rows', ['many']],
    [ofBatch, 'rows', ['1\0']],
    [ofBatch, 'rows', ['9'.repeat(5_000)]],
    [ofBatch, 'row', ['1\0']],
    [ofBatch, 'row', ['-1']],
    [ofBatch, 'row', [`${'9'.repeat(19)}.email.0123456789ab`]],
    [ofBatch, 'row', ['1.password.0123456789ab']],
    [ofBatch, 'row', ['9'.repeat(5_000)]],
    [ofBatch, 'row', Array.from({ length: 201 }, (_, i) => `${i}.email.0123456789ab`)],
    [ofBatch, 'why', ['\0']],
    [ofBatch, 'why', ['x'.repeat(1_001)]],
    [ofField, 'row', ['20.email.0123456789a\0']],
    [ofField, 'row', [`20.email.${'x'.repeat(12)}`]],
    [ofField, 'row', ['0'.repeat(5_000)]],
    [ofField, 'ticks', []],
    [ofField, 'verb', ['all', 'mirror']],
    [ofField, 'value', ['a\0b']],
    [ofField, 'value', ['x'.repeat(5_000)]],
  ])('rejects a form if its field $1 is missing, malformed or too frequent (%#)', (fields, name, values) => {
    expect(() => read(filled({ ...fields, [name]: values }))).toThrow('The form cannot be read');
    expect(read(filled(fields)).rows?.length).toBe(fields.row.length);
  });

  it('explains the error if a field of the form is malformed, or if the form is too long (413)', async () => {
    const form = await openBatch();
    const malformed = await dora.press(withField(form, 'rows', 'many'), 'Approve');
    expect([malformed.status, malformed.text]).toEqual([
      303,
      expect.stringContaining('Nothing was decided. The form cannot be read'),
    ]);
    const { status, text } = await dora.press(withField(form, 'row', '1'.repeat(70_000)), 'Approve');
    expect([status, text]).toEqual([413, expect.stringContaining('This form is too long')]);
  });
});

describe('a hold requested on the page of a user', () => {
  afterAll(() => visit('dora'));
  const person = '/people/default/20';
  const threeDays = new Date(Date.now() + 3 * 86_400_000);
  const open = () => formAt(person, 'Hold');
  const begin = async (fields: Readonly<Record<string, readonly string[]>>) => {
    const usual = { field: ['phone'], until: [`in ${threeDays.toISOString()}`], at: [''], ...fields };
    const form = Object.entries(usual).reduce(
      (one, [name, values]) => withField(one, name, ...values),
      await open(),
    );
    return await dora.press('why' in fields ? { ...form, asksWhy: false } : form, 'Hold');
  };
  const held = () =>
    rowsOf('select field, reason, held_before, until, asked_by, detail from report.held order by field');

  it('records the end, the login and the reason of the hold, and offers a button that ends the hold', async () => {
    const { status, location } = await begin({});
    expect([status, location]).toEqual([303, person]);
    expect(await held()).toEqual([
      ['phone', 'asked', null, threeDays, expect.stringMatching(/^dora, said by /), 'a test'],
    ]);
    const { text, forms } = await dora.ask(person);
    expect(text).toMatch(/Held until \d+ \w+ (\d{4} )?\d\d:\d\d by dora.*, “a test”/);
    const form = formWith(forms, 'End it now');
    expect((await dora.press(form, 'End')).location).toBe(person);
    expect(await held()).toEqual([]);
    expect((await dora.press(form, 'End')).text).toContain('Nothing was decided. It is no longer held');
  });

  it('covers a field in conflict, and restores the conflict when the hold ends', async () => {
    await openAda();
    onTestFinished(() => showTimesIn('UTC'));
    showTimesIn('Asia/Kolkata');
    await begin({ field: ['all'], until: ['at'], at: ['2099-03-31T09:00'] });
    expect((await held())[0]?.[3]).toEqual(new Date('2099-03-31T03:30Z'));
    expect((await held()).map(([field, reason, before]) => [field, reason, before])).toEqual([
      ['email', 'asked', 'conflict'],
      ['name', 'asked', null],
      ['phone', 'asked', null],
      ['role_id', 'asked', null],
    ]);
    const { text, forms } = await dora.ask(person);
    expect(text).toContain('Held until 31 Mar 2099 09:00');
    expect(text.split('Asia/Kolkata').length).toBe(1 + 2);
    expect(text).toContain('then as before: email changed on both sides');
    expect(text).not.toContain('Take the mirror’s');
    await dora.press(formWith(forms, 'End it now'), 'End');
    expect((await held()).map(([field, reason]) => [field, reason])).toEqual([['email', 'conflict']]);
  });

  it.each([
    ['without a reason', { why: [' '] }, 'A reason is missing'],
    ['without an end', { until: ['at'] }, 'The end of the hold is missing'],
    ['until 30 February', { until: ['at'], at: ['2026-02-30T09:00'] }, 'The end of the hold is missing'],
    ['until a past moment', { until: ['at'], at: ['2001-01-01T09:00'] }, 'of the hold is in the past'],
    ['without a field', { field: [] }, 'names no field'],
    ['of an unknown field', { field: ['gone_at'] }, 'names no field'],
    ['with a reason that is too long', { why: ['x'.repeat(1_001)] }, 'is too long'],
  ])('rejects a hold %s, and shows the error above the form', async (_, fields, words) => {
    const { status, text } = await begin(fields);
    expect([status, text]).toEqual([303, expect.stringContaining(words)]);
    expect(text).toMatch(/Nothing was decided\..*Leave it alone/s);
    expect(await held()).toEqual([]);
  });

  it('can be requested only for a user who has not left, and only by a login that may decide', async () => {
    const form = withField(await open(), 'field', 'phone');
    await owned('update mirror.users set gone_at = now() where id = 20');
    expect((await dora.ask(person)).text).not.toContain('Leave it alone');
    expect((await dora.press(form, 'Hold')).text).toContain('No user with this id');
    await owned('update mirror.users set gone_at = null where id = 20');
    await visit('dora', 'look', 'look');
    expect((await dora.ask(person)).forms).toEqual([]);
    expect(await held()).toEqual([]);
  });
});

describe('a page that a daemon serves', () => {
  it('ignores an old record that its own team’s daemon stopped, but reports that another team’s daemon stopped', async () => {
    const ended = { pid: 812, host: 'mirror-1', by_systemd: true, how: 'asked' };
    const times = ['started_at', 'seen_at', 'ended_at'].map((one) => [one, '2026-01-01T00:00Z']);
    const value = JSON.stringify({ a: { ...ended, ...Object.fromEntries(times) } });
    await owned(`insert into sync.learned (team, topic, value) values ('default', 'daemon', '${value}')`);
    expect((await dora.ask('/')).text).not.toContain('No daemon runs');
    const own = config;
    config = { ...config, team: 'another' };
    expect((await dora.ask('/')).text).toContain('Process 812 on mirror-1 was asked to stop, and stopped.');
    config = own;
    await owned(`delete from sync.learned where topic = 'daemon'`);
  });
});

describe('a reload of the settings while the page runs', () => {
  afterAll(() => visit('dora'));

  it('does not change the rights of logins or the hiding of details until the page server restarts', async () => {
    config = configSchema.parse({});
    await visit('dora', 'look', 'look');
    config = configOf();
    await edit([11], `email = 'new11@example.com'`);
    await hold([11], batch);
    const { forms, text } = await dora.ask(`/waiting/${batch}`);
    expect(forms).toEqual([]);
    expect(text).not.toContain('new11@example.com');
    await visit('dora');
    expect((await dora.ask(`/waiting/${batch}`)).text).toContain('new11@example.com');
  });
});

describe('an address with unexpected values in its parameters', () => {
  const keys =
    'q state sort page role segment days since run actor field direction before open of receipt seal only hold end';
  const odd = [
    '__proto__',
    'constructor',
    '9'.repeat(40),
    '-1',
    "'%\\",
    '\ud800',
    '0000-01-01',
    'x'.repeat(300),
  ];

  it.each(pageViews.map(({ path }) => path))('%s gets 200 or 404, or 400 with a NUL', async (pattern) => {
    for (const value of [...odd, '\0']) {
      const text = encodeURIComponent(value.toWellFormed());
      const query = keys.split(' ').map((key) => `${key}=${text}`);
      const usual = pattern.replace(':team', 'default').replace(/:\w+/, '20');
      // A file is of what the page reads, so that one odd value and the bad one are enough for it.
      const hasFile = value === '\ud800' || value === '\0';
      for (const path of [
        `${usual}?${query.join('&')}`,
        `${usual}?team=${text}`,
        ...(pattern.includes(':') ? [pattern.replaceAll(/:\w+/g, text)] : []),
        ...(hasFile ? [`${usual === '/' ? '/glance' : usual}.csv?${query.join('&')}`] : []),
      ]) {
        const { status, text: shown } = await dora.ask(path);
        const isBad = value === '\0' && path.includes(text);
        expect([path, status]).toEqual([path, isBad ? 400 : expect.toBeOneOf([200, 404])]);
        if (isBad) expect(shown).toContain('This request cannot be read');
      }
    }
    expect(warnings).toEqual([]);
  });
});

describe('a login that may not decide, or may not approve its own edits (push.fourEyes)', () => {
  afterAll(() => visit('dora'));
  it('sees no form if it may only look, but the name of a login that may decide', async () => {
    await openAda();
    await visit('bo');
    const form = await openBatch();
    await visit('bo', 'look');
    for (const path of ['/waiting', `/waiting/${batch}`, '/people/default/20']) {
      const { forms, text } = await dora.ask(path);
      expect([path, forms]).toEqual([path, []]);
      expect(text.split('You may look, and ann may decide').length).toBe(2);
    }
    expect([(await dora.press(form, 'Approve')).status, await decisions()]).toEqual([403, []]);
    await visit('dora');
  });

  it('sees its own edits in a batch without checkboxes, but can withdraw them (push.fourEyes)', async () => {
    config = configOf({ fourEyes: true });
    await visit('admin');
    await edit([15, 16], `email = 'mine' || id || '@example.com'`, 'Admin');
    await hold([15, 16], batch);
    const alone = await dora.ask(`/waiting/${batch}`);
    expect(alone.text).toContain('Your own edits alone: somebody else has to approve them.');
    expect(alone.text).not.toContain('ticked');
    expect(formWith(alone.forms, 'Withdraw all 2').ticks).toEqual([]);
    const form = await openBatch();
    expect(form.ticks.length).toBe(4);
    const { text, forms } = await dora.ask(`/waiting/${batch}`);
    expect(forms.length).toBe(1);
    expect(text).toContain('2 your own. Rows without a tick wait on.');
    expect(text).toMatch(
      /mine15@example\.com.*Your own edit: somebody else has to approve it\. Withdraw it/s,
    );
    const { asked } = await press(form, 'Approve');
    expect(asked.text).toContain('Approve 4 of 6?');
    expect(asked.text).toContain('Still waiting: 2.');
    expect(await receiptOf((await decide(form, 'Withdraw')).done)).toMatch(
      /1 email address put back to what both sides last agreed on by you at/,
    );
    expect(await rowsOf(`select count(*) from mirror.users where email like 'mine%'`)).toEqual([[1n]]);
    expect((await reasons()).length).toBe(5);
  });

  it('sees its own conflicts outside of a batch without checkboxes, but can withdraw them (push.fourEyes)', async () => {
    config = configOf({ fourEyes: true });
    await visit('admin');
    await edit([15, 16], `email = 'mine' || id || '@example.com'`, 'Admin');
    await edit([17, 18], `email = 'anna' || id || '@example.com'`, 'Anna');
    await hold([15, 16, 17, 18]);
    const form = await formAt('/waiting?state=conflict', 'Take the mirror’s');
    expect(form.ticks.length).toBe(2);
    const { asked, question } = await press(form, 'Withdraw');
    expect(asked.text).toMatch(/The mirror gets the value of the service; nothing is sent\./);
    expect((await dora.press(question, 'Take the service’s')).status).toBe(303);
    expect(await rowsOf(`select count(*) from mirror.users where email like 'mine%'`)).toEqual([[1n]]);
    expect(await decisions()).toEqual([expect.stringMatching(/^resolve 1[56] email$/)]);
  });

  it('cannot resolve to its own value, and any other value that it types waits for approval (push.fourEyes)', async () => {
    config = configOf({ fourEyes: true });
    await edit([20], ada, 'Anna');
    await hold([20]);
    const take = (value: string) =>
      resolve(setup(), '20', {
        field: 'email',
        take: { value },
        seen: undefined,
        why: 'a test',
        actor: 'anna',
      });
    await expect(take('ada@example.com')).rejects.toThrow('edited, or may have edited');
    for (const value of ['ADA@example.com', 'other@example.com']) {
      expect(await take(value)).toMatchObject({ mirror: value, waits: true });
      // It is an edit of Anna's, to which nobody else has agreed.
      expect(await rowsOf('select field, reason, decision from sync.held_fields')).toEqual([
        ['email', 'limit', null],
      ]);
    }
  });
});
