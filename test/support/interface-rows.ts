/**
 * Every endpoint, field, error, limit and rule of interface.md as a row: where the client has it, where the
 * emulator has it, and which test proves it. `test/system/interface-coverage.test.ts` holds the rows against
 * the sources and docs/openapi.json, and writes docs/interface-coverage.md from them.
 */
import type { VariantName } from '../../src/emulator/variants.ts';
import { endpointRows } from './interface-endpoints.ts';
import { ruleRows } from './interface-rules.ts';
import {
  bodies,
  type Nested,
  type Resource,
  responses,
  type Scalar,
  type Shape,
} from './interface-shapes.ts';

/** What a cell says where the interface names a thing and no way to it. */
export const noPath = 'the interface shows no path';

/** File from `src/` on, a symbol in it, and a word of explanation. */
export type Source = readonly [file: string, symbol: string, says?: string];

/** File from `test/` on, and the title of a test in it, as it is written there. */
export type Proof = readonly [file: string, title: string];

export interface Row {
  /** The heading of interface.md. */
  readonly section: string;
  readonly name: string;
  readonly client: Source | typeof noPath;
  readonly emulator: Source | typeof noPath;
  readonly tests: readonly Proof[] | typeof noPath;
  /** Options of the emulator that play what the interface leaves open here. */
  readonly variants?: readonly VariantName[];
  /** Of a field: where docs/openapi.json has it, and of which type. */
  readonly field?: { readonly at: readonly string[]; readonly type: string };
  /** Of an error: the key of its response in docs/openapi.json. */
  readonly status?: string;
}

/** All fields of a shape with their types, depth first, such as `meta.content.gallery[].url`. */
export function fieldsOf(
  shape: Shape,
  prefix = '',
): readonly { readonly path: string; readonly type: string; readonly name: string; readonly shape: Shape }[] {
  return Object.entries(shape.fields).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const own = { path, type: typeOf(field), name, shape };
    if (typeof field === 'string') return [own];
    return [own, ...fieldsOf(field.shape, field.list ? `${path}[]` : path)];
  });
}

function typeOf(field: Scalar | Nested): string {
  if (typeof field === 'string') return field;
  return field.list ? 'object[]' : 'object';
}

function fieldRows(resource: Resource, tests: (path: string) => readonly Proof[]): readonly Row[] {
  return fieldsOf(resource.shape).map(({ path, type, name, shape }) => {
    const place = shape.elsewhere?.[name] ?? { ...shape.client, symbol: `${shape.client.symbol}.${name}` };
    // A symbol of its own says it already where it is not one of many keys.
    const client: Source = [place.file, place.symbol];
    const emulator: Source = [shape.emulator.file, `${shape.emulator.symbol}.${name}`];
    return {
      section: resource.section,
      name: path,
      client,
      emulator,
      tests: tests(path),
      field: { at: resource.at, type },
    };
  });
}

const takenApart: Proof = ['service/fields.test.ts', '%s, %s: missing, null or of another type'];
const whole: Proof = ['service/fields.test.ts', '%s: every documented field is taken'];
const played: Proof = ['service/fields.test.ts', '%s: the emulator answers every documented field'];
const sent: Proof = ['service/requests.test.ts', '%s: every documented field reaches the wire'];

/** Which the emulator does not answer by itself: it plays no campaigns. */
export const unplayed = ['meta.campaign_id', 'meta.campaign_step_id', 'meta.campaign_target_phone'];

const responseRows = Object.values(responses).flatMap((resource: Resource) =>
  fieldRows(resource, (path) => (unplayed.includes(path) ? [whole, takenApart] : [takenApart, played])),
);
const requestRows = Object.values(bodies).flatMap((resource: Resource) => fieldRows(resource, () => [sent]));

export const rows: readonly Row[] = [...endpointRows, ...responseRows, ...requestRows, ...ruleRows];
