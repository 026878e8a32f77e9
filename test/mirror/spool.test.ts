import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSpool, type StageShape, spoolToJson } from '../../src/mirror/spool.ts';

interface Row {
  readonly id: bigint;
  readonly text: string;
}

const shape: StageShape<Row> = {
  name: 'texts',
  columns: [
    ['id', 'bigint'],
    ['text', 'text'],
  ],
  values: ({ id, text }) => [id, text],
};

type Step = readonly ['add' | 'replace', bigint, string] | readonly ['clear'];

const text = fc.string({ unit: fc.constantFrom('a', '\t', '\n', '\\', 'ö', '1'), maxLength: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.tuple(fc.constantFrom('add', 'replace'), fc.bigInt({ min: 1n, max: 5n }), text),
  },
  { weight: 1, arbitrary: fc.constant(['clear'] as const) },
);

it('A spool has each row once, as it was put there last, and none from before it was cleared', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const spool = createSpool(shape);
      const expected = new Map<string, string>();
      for (const [what, id = 0n, said = ''] of steps) {
        if (what === 'clear') {
          spool.clear();
          expected.clear();
          continue;
        }
        const row = { id, text: said };
        if (expected.has(String(id))) spool.replace(row);
        else spool.add([row]);
        expected.set(String(id), said);
      }
      const rows = JSON.parse(spoolToJson(spool)) as readonly { id: string; text: string }[];
      expect(rows.map((row) => [row.id, row.text])).toEqual([...expected]);
      expect(spool.count).toBe(expected.size);
      spool.close();
    }),
  );
});
