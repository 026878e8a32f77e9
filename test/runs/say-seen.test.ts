import type { Field } from '../../src/model/fields.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HeldRow } from '../../src/mirror/users/held.ts';
import { readSeen } from '../../src/runs/decide/read-take.ts';
import { sayDecideEach, saySeen, type SeenHold } from '../../src/runs/decide/say-seen.ts';
import { canonicalShown, sameValue } from '../../src/model/user.ts';

/** The options of a command line, as a shell reads them. */
const optionsOf = (line: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...line.matchAll(/--([a-z-]+) ((?:'[^']*'|\\'|[^\s'])*)/g)].map(([, name = '', word = '']) => [
      name === 'if-service' ? 'ifService' : name,
      word.replace(/'([^']*)'|\\(.)/g, (_, inner?: string, escaped?: string) => inner ?? escaped ?? ''),
    ]),
  );

const text = fc.oneof(
  fc.constantFrom('', ' ', "d'Arc", 'Ada|Berg', '|', 'a b  c', '\u202e', '--edit 9', 'x\ny', '15550100'),
  fc.string(),
);
const mirrorOf = (field: Field, [one, two]: readonly [string, string]) => {
  if (field === 'name') return { first: one, last: two };
  return field === 'roleId' ? BigInt(one.length) : one.trim() || null;
};

it.each(['name', 'email', 'phone', 'roleId'] as const)('readSeen reads a %s that saySeen wrote', (field) => {
  fc.assert(
    fc.property(text, text, text, fc.boolean(), (one, two, three, hasNone) => {
      const mirror = mirrorOf(field, [one, two]);
      const service = hasNone ? null : field === 'roleId' ? BigInt(three.length) : three;
      const seen = readSeen(field, optionsOf(saySeen({ field, edit: 12n, mirror, service })));
      if (seen?.kind === 'edit') expect(seen.edit).toBe(12n);
      else expect(seen?.kind === 'value' && sameValue(field, seen.value, mirror)).toBe(true);
      if (seen?.kind !== 'shown' && seen?.service !== undefined)
        expect(canonicalShown(field, seen.service)).toBe(canonicalShown(field, service));
    }),
  );
});

describe('the printed commands', () => {
  it.each<readonly [SeenHold, string]>([
    [
      { field: 'email', edit: 12n, mirror: 'a@b.example', service: 'c@d.example' },
      `--if a@b.example --if-service c@d.example`,
    ],
    [
      { field: 'name', edit: 12n, mirror: { first: 'A|B', last: '' }, service: "Eva d'Arc" },
      `--edit 12 --if-service 'Eva d'\\''Arc'`,
    ],
    [{ field: 'phone', edit: undefined, mirror: null, service: undefined }, `--if '' --if-service ''`],
    [{ field: 'roleId', edit: 12n, mirror: 4n, service: 17n }, `--if 4 --if-service 17`],
    [{ field: 'phone', edit: 12n, mirror: '1\u202e2', service: '1\u202e3' }, '--edit 12'],
  ])('saySeen prints options for the seen edit and the seen values (case %#)', (seen, words) => {
    expect(saySeen(seen)).toBe(words);
  });

  const row = {
    user_id: 7n,
    field: 'role_id',
    reason: 'conflict',
    mirror_value: 4,
    service_value: 17,
    edit_id: null,
    batch: null,
  } as unknown as HeldRow;
  it.each<readonly [Partial<HeldRow>, readonly string[]]>([
    [{}, [`musterd resolve 7 role_id --take mirror --if 4 --if-service 17`]],
    [
      { field: 'name', mirror_value: { first: 'A|B', last: 'C' }, service_value: 'Eva', edit_id: 12n },
      [`musterd resolve 7 name --take mirror --edit 12 --if-service Eva`],
    ],
    [{ reason: 'limit', batch: 'abc' }, ['musterd approve abc --only 7.role_id --reason …']],
    [{ reason: 'review', batch: 'abc' }, ['musterd approve abc --only 7.role_id --reason …']],
    [
      { reason: 'conflict', batch: 'abc' },
      [`musterd resolve 7 role_id --take mirror --if 4 --if-service 17`],
    ],
    [{ reason: 'limit' }, []],
    [{ reason: 'asked' }, []],
  ])('sayDecideEach prints the command for a held field, if one exists (case %#)', (more, commands) => {
    expect(sayDecideEach([{ ...row, ...more }])).toEqual(commands);
  });
});

it.each([
  [{ ifService: 'x' }, 'also needs --edit or --if'],
  [{ edit: '12', if: 'x' }, 'give one of them'],
  [{ edit: 'x', ifService: '' }, 'not the number of an edit'],
  [{ edit: '9'.repeat(20) }, 'not the number of an edit'],
])('readSeen refuses missing, contradictory or malformed options: %j', (options, words) => {
  expect(() => readSeen('email', options)).toThrow(words);
});

it('readSeen reads an empty --if or --if-service as an empty value', () => {
  expect(readSeen('email', { edit: '12', ifService: '' })).toEqual({
    kind: 'edit',
    edit: 12n,
    service: null,
  });
  expect(readSeen('email', { if: '' })).toEqual({ kind: 'value', value: null, service: undefined });
});
