import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSpool, type StageShape, spoolToJson } from '../../src/mirror/db/spool.ts';
import { fromJson, toJson } from '../../src/model/json.ts';

interface Row {
  readonly id: bigint;
  readonly text: string | null;
  readonly is: boolean | null;
  readonly raw: string;
}

const shape: StageShape<Row> = {
  name: 'texts',
  columns: [
    ['id', 'bigint'],
    ['text', 'text'],
    ['is', 'boolean'],
    ['raw', 'jsonb'],
  ],
  values: ({ id, text, is, raw }) => [id, text, is, raw],
};

type Step = readonly ['add' | 'replace', bigint, string | null] | readonly ['clear'];

const text = fc.option(
  fc.string({ unit: fc.constantFrom('a', '\t', '\n', '\\', '"', 'ö', '1', 'N'), maxLength: 5 }),
);
/** Ids do not fit a number. */
const far = 2n ** 62n;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.tuple(fc.constantFrom('add', 'replace'), fc.bigInt({ min: far, max: far + 4n }), text),
  },
  { weight: 1, arbitrary: fc.constant(['clear'] as const) },
);

it('a spool contains the last version of each row, and is empty after clear()', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const spool = createSpool(shape);
      const expected = new Map<bigint, object>();
      const firstly = new Map<bigint, object>();
      for (const [what, id = 0n, said = null] of steps) {
        if (what === 'clear') {
          spool.clear();
          expected.clear();
          firstly.clear();
          continue;
        }
        const is = said === null ? null : said.length > 2;
        const row = { id, text: said, is, raw: JSON.stringify({ said }) };
        if (expected.has(id)) spool.replace(row);
        else spool.add([row]);
        const known = said === null ? {} : { text: said, is };
        expected.set(id, { id, ...known, raw: { said } });
        if (!firstly.has(id)) firstly.set(id, expected.get(id) ?? {});
      }
      const isOther = (id: bigint) => toJson(expected.get(id)) !== toJson(firstly.get(id));
      expect(spool.differing()).toEqual([...firstly.keys()].filter(isOther));
      expect(fromJson(spoolToJson(spool))).toEqual([...expected.values()]);
      expect(spool.count).toBe(expected.size);
      spool.close();
    }),
  );
});
