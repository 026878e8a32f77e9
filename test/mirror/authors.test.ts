import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { sql as text } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { servers } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each(servers())('authors of edits on $name', (server) => {
  const database = useDatabase({ server });

  const persons = async (names: readonly (string | null)[]) => {
    const { rows } = await text<{ person: string | null }>`
      select sync.person(n.name) as person from unnest(${names}::text[]) with ordinality as n (name, at) order by n.at`.execute(
      database.db.kysely,
    );
    return rows.map(({ person }) => person);
  };

  describe('sync.person', () => {
    it.each([
      ['upper and lower case', ['Kim Lee', 'KIM LEE', 'kim lee'], 'kim lee'],
      ['the Unicode normal form', ['Zo\u00eb', 'Zoe\u0308', 'ZOE\u0308', 'ZO\u00cb'], 'zo\u00eb'],
      ['compatibility letters', ['\uff2b\uff49\uff4d', '\u{1d542}im', 'Kim'], 'kim'],
      ['a ligature', ['\ufb01nn', 'Finn'], 'finn'],
      [
        'white space',
        [
          'Kim Lee',
          '  Kim \t\n Lee ',
          'Kim\u00a0Lee',
          'Kim\u2003Lee',
          'Kim\u3000Lee',
          'Kim\u1680Lee',
          'Kim\u2028Lee',
          'Kim\u0085Lee',
        ],
        'kim lee',
      ],
      [
        'invisible characters',
        [
          '\u00ad',
          '\u034f',
          '\u061c',
          '\u115f',
          '\u1160',
          '\u17b4',
          '\u17b5',
          '\u180b',
          '\u180e',
          '\u180f',
          '\u200b',
          '\u200c',
          '\u200d',
          '\u200e',
          '\u200f',
          '\u202a',
          '\u202e',
          '\u2060',
          '\u2064',
          '\u2066',
          '\u2069',
          '\u206f',
          '\u3164',
          '\ufe00',
          '\ufe0f',
          '\ufeff',
          '\uffa0',
          '\u{e0001}',
          '\u{e0041}',
          '\u{e0100}',
          '\u{1d173}',
          '\u{1bca0}',
          '\ufff8',
          '\u0001',
          '\u001b',
          '\u007f',
          '\u009f',
        ].map((one) => `Ki${one}m${one}`),
        'kim',
      ],
      ['a sharp s', ['stra\u00dfe', 'STRASSE', 'Strasse', 'STRA\u1e9eE'], 'strasse'],
      [
        'a final sigma',
        [
          '\u039c\u0391\u03a1\u0399\u039f\u03a3',
          '\u039c\u03b1\u03c1\u03b9\u03bf\u03c2',
          '\u039c\u03b1\u03c1\u03b9\u03bf\u03c3',
        ],
        undefined,
      ],
      ['the dot on an i', ['kim', 'k\u0131m', 'KIM'], 'kim'],
    ] as const)('returns the same form for names that differ only in %s', async (_, names, form) => {
      const found = new Set(await persons(names));
      expect(found.size).toBe(1);
      if (form !== undefined) expect(found).toEqual(new Set([form]));
    });

    it('returns different forms for names that differ in a letter, an accent or a space', async () => {
      const names = ['Zoe', 'Zo\u00eb', 'Zoey', 'Kim', 'Kimi', 'Kim Lee', 'KimLee', 'Lee Kim', 'k\u0456m'];
      expect(new Set(await persons(names)).size).toBe(names.length);
    });

    it('returns null for a name without visible letters', async () => {
      const names = await persons([null, '', ' \t', '\u200b', '\u00a0\u2060', ' \ufeff ']);
      expect(names).toEqual(Array(6).fill(null));
    });

    it('returns the same form for upper and lower case, and returns a given form unchanged', async () => {
      // Every letter that has another case or another form, by itself and in a name; and anything at all.
      const letters = Array.from({ length: 0x1_ffff }, (_, at) => String.fromCodePoint(at)).filter((letter) =>
        /\p{Changes_When_NFKC_Casefolded}/u.test(letter),
      );
      const any = fc.sample(fc.string({ unit: 'binary', maxLength: 12 }), { numRuns: 1000, seed: 7 });
      const names = [...letters, ...letters.map((letter) => `a${letter}a`), ...any].map((name) =>
        name.replaceAll('\0', ''),
      );
      const forms = await persons(names);
      expect(await persons(forms)).toEqual(forms);
      // As the server's ICU knows cases: it may be older than this Node.
      const { rows } = await text<{ upper: string; lower: string }>`
        select upper(n.name collate "und-x-icu") as upper, lower(n.name collate "und-x-icu") as lower
        from unnest(${names}::text[]) with ordinality as n (name, at) order by n.at`.execute(
        database.db.kysely,
      );
      expect(await persons(rows.map(({ upper }) => upper))).toEqual(forms);
      expect(await persons(rows.map(({ lower }) => lower))).toEqual(forms);
    });
  });

  describe('sync.is_own', () => {
    const suffix = randomBytes(4).toString('hex');
    const named = (name: string) => `${name}_${suffix}`;
    const roles = {
      approver: named('approver'),
      deciding: named('deciding editor'),
      column: named('column editor'),
      trusted: named('trusted'),
      loud: named('Loud'),
      spaced: `${named('eve')} `,
      hidden: named('e\u200bve'),
    } as const;
    const quoted = (name: string) => `"${name}"`;

    beforeAll(async () => {
      const { approver, deciding, column, trusted } = roles;
      await database.rows(`${Object.values(roles)
        .map((role) => `create role ${quoted(role)}; grant usage on schema sync to ${quoted(role)}`)
        .join(';')};
         grant musterd_editor to ${quoted(deciding)};
         grant usage on schema mirror to ${quoted(column)}; grant update (role_id) on mirror.users to ${quoted(column)};
         grant update on sync.held_fields to ${quoted(trusted)}; grant usage on schema mirror to ${quoted(approver)}`);
    });
    afterAll(async () => {
      const all = Object.values(roles).map(quoted).join(', ');
      await database.rows(`drop owned by ${all}`);
      const admin = createDatabase({ url: server.url });
      await runSqlText(admin, `drop role ${all}`);
      await admin.close();
    });

    const isOwn = (role: string, actor: string, authors: readonly string[]) =>
      database.db.transaction(async (tx) => {
        await text`select set_config('musterd.actor', ${actor}, true)`.execute(tx);
        await text`set local session authorization ${text.id(role)}`.execute(tx);
        const { rows } = await text<{ own: boolean }>`select sync.is_own(${authors}::text[]) as own`.execute(
          tx,
        );
        return rows[0]?.own;
      });
    const { approver, deciding, column, trusted, loud, spaced, hidden } = roles;

    it.each([
      ['true for a role that edited the field', approver, '', [approver], true],
      ['true for a role that is one of three authors', approver, '', ['kim', approver, 'lee'], true],
      ['false for a role that did not edit the field', approver, '', ['kim'], false],
      ['false for any role if the edit has no authors', approver, '', [], false],
      ['true for a role that acts for the person who edited the field', approver, 'Kim', ['kim'], true],
      ['true for another spelling of the author’s name', approver, ' KIM  Lee\u200b', ['kim lee'], true],
      ['true for an author that now acts for another person', approver, 'Lee', [approver], true],
      ['false for a role that acts for a person who did not edit the field', approver, 'Lee', ['kim'], false],
      ['false for a role that acts for a blank name', approver, ' ', ['kim'], false],
      ['true for a trusted role that acts for the author', trusted, 'Kim', ['kim'], true],
      ['false for a trusted role that now acts for another person', trusted, 'Lee', [trusted, 'kim'], false],
      ['true for a trusted role that edited the field and acts for no person', trusted, '', [trusted], true],
      ['false for a role that cannot edit if the only author is unknown', approver, '', [''], false],
      ['false for a role that cannot edit if one author is unknown', approver, '', ['', 'kim'], false],
      ['true for a role that can edit if the only author is unknown', deciding, '', [''], true],
      ['true for a role that can edit if one author is unknown', deciding, '', ['kim', ''], true],
      ['true for a role that can edit one column if the only author is unknown', column, '', [''], true],
      ['false for a role that can edit users and did not edit the field', deciding, '', ['kim'], false],
      ['true for a role with capitals in its name', loud, '', ['kim'], true],
      ['true for a role with a space at the end of its name', spaced, '', ['kim'], true],
      ['true for a role with an invisible letter in its name', hidden, '', ['kim'], true],
      ['true for a role with a final space that acts for another person', spaced, 'Lee', ['kim'], true],
    ])('returns whether the deciding role counts as an author: %s', async (_, role, actor, authors, own) => {
      expect(await isOwn(role, actor, authors)).toBe(own);
    });
  });
});
