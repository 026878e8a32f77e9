import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type LiveSystem, startLiveSystem } from './live-system.ts';

/** One daemon, with `push.approve: always`, goes on through all of it. */
describe('an administrator beside a daemon', () => {
  let live: LiveSystem;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    live = await startLiveSystem({ MUSTERD__push__approve: 'always' });
  });
  afterAll(async () => {
    await live.close();
    rmSync(folder, { recursive: true });
  });
  const lastRun = async () => Number((await live.sql('select max(run_id) from sync.runs'))[0]?.[0]);
  const held = async () =>
    (await live.sql('select user_id from report.held order by 1')).map(([id]) => Number(id));
  /** As somebody types it: words, and texts in quotes. */
  const type = (line: string) =>
    live.musterd(
      [...line.matchAll(/'([^']*)'|(\S+)/g)].slice(1).map(([, quoted, word]) => quoted ?? word ?? ''),
      { MUSTERD_ACTOR: 'anna' },
    );
  const values = (people: Awaited<ReturnType<LiveSystem['people']>>) =>
    new Map(
      people.map(({ id, first, last, email, phone, roleId }) => [id, [first, last, email, phone, roleId]]),
    );

  /** What an old spreadsheet can write, and where nobody has to guess where the first name ends. */
  const isPlain = (text: string) => /^[!-~¡-ÿ]+$/.test(text);
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const shown = (phone: string | null) =>
    phone === null
      ? ''
      : `+${phone.slice(0, 1)} (${phone.slice(1, 4)}) ${phone.slice(4, 7)}-${phone.slice(7)}`;

  it('corrects a file of 200 rows from an HR system with two commands, and takes it back with one', async () => {
    const people = await live.people();
    const before = values(people);
    const roles = new Map(
      (await live.sql('select role_id, name from mirror.roles')).map(([id, name = '']) => [Number(id), name]),
    );
    const known = people.filter(({ email, phone }) => email !== null || phone !== null);
    const plain = known.filter(
      ({ first, last, email, phone }) => email !== null && phone !== null && isPlain(first) && isPlain(last),
    );
    const withoutEmail = new Set(plain.slice(20, 32).map(({ id }) => id));
    const renamed = new Set(plain.slice(0, 32).map(({ id }) => id));
    const moved = new Map(plain.slice(40, 60).map(({ id }, at) => [id, `155501${100 + at}`]));
    const [manager = 0, agent = 0] = [...roles.keys()].filter((id) => id !== 1);
    const promoted = new Set(
      plain
        .slice(60)
        .filter(({ roleId }) => roleId === agent)
        .slice(0, 3)
        .map(({ id }) => id),
    );
    const rowOf = ({ id, first, last, email, phone, roleId }: (typeof people)[number]) =>
      [
        isPlain(first) && isPlain(last) ? first : '',
        renamed.has(id) ? 'Berg-Åkesson' : isPlain(first) && isPlain(last) ? last : '',
        withoutEmail.has(id) ? '' : (email ?? ''),
        shown(moved.get(id) ?? phone),
        promoted.has(id) ? (roles.get(manager) ?? '').toUpperCase() : (roles.get(roleId) ?? ''),
        'Cost\ncentre 7',
      ]
        .map(cell)
        .join(';');
    const rows = [...known, ...known].slice(0, 198).concat(plain.slice(70, 72)).map(rowOf);
    const text = ['Given name;Surname;E-mail;Mobile phone;Role;Cost centre', ...rows].join('\r\n');
    const path = join(folder, 'hr.csv');
    writeFileSync(path, Buffer.from(text, 'latin1'));
    expect([rows.length, known.length, withoutEmail.size, promoted.size]).toEqual([200, 198, 12, 3]);

    const look = `musterd import ${path} --dry-run`;
    const correct = `musterd import ${path} --reason 'HR of May' --yes`;
    // Nothing but the file, and why: no ids, columns or patterns. Two of its rows are there twice.
    for (const line of [look, correct]) expect(line.replace(path, '')).not.toMatch(/\d|--(?!dry|reason|yes)/);
    const looked = await type(look);
    expect([looked.code, looked.stderr]).toEqual([0, expect.stringContaining('nothing is written yet')]);
    expect(looked.stdout).toContain('200 rows: 200 matched, 0 that cannot be used, 55 users to change');
    const since = await lastRun();
    expect(await type(correct)).toMatchObject({ code: 0 });
    await live.settled();
    await eventually('the service has all of it', async () => {
      const now = values(await live.people());
      const isMoved = [...moved].every(([id, phone]) => now.get(id)?.[3] === phone);
      const isPromoted = [...promoted].every((id) => now.get(id)?.[4] === manager);
      return isMoved && isPromoted && [...renamed].every((id) => now.get(id)?.[1] === 'Berg-Åkesson');
    });
    const changed = new Set([...renamed, ...moved.keys(), ...promoted]);
    const after = values(await live.people());
    for (const [id, was] of before) if (!changed.has(id)) expect(after.get(id)).toEqual(was);

    // The daemon has sent it in one run.
    const runs = await live.sql(
      `select distinct run_id from sync.changes where kind = 'push' and run_id >= ${since}`,
    );
    expect(runs).toHaveLength(1);
    expect(await type(`musterd undo ${runs[0]?.[0]} --apply --reason 'wrong file'`)).toMatchObject({
      code: 0,
    });
    await eventually('the service is as it was', async () => {
      const now = values(await live.people());
      return [...before].every(([id, was]) => JSON.stringify(now.get(id)) === JSON.stringify(was));
    });
    await live.settled();
    expect(await held()).toEqual([]);
    expect(
      await live.sql(
        `select distinct decided_by, decided_why from sync.changes where kind = 'approve' order by 2`,
      ),
    ).toEqual([
      ['anna', 'HR of May'],
      ['anna', 'wrong file'],
    ]);
    expect(await type('musterd verify')).toMatchObject({ code: 0 });
  });
});
