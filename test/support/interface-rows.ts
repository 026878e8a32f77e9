/**
 * Every endpoint, field, error, limit and rule of interface.md as a row: where the client has it, where the
 * emulator has it, and which test proves it. `test/system/interface-coverage.test.ts` holds the rows against
 * the sources and docs/openapi.json, and writes docs/interface-coverage.md from them.
 */
import { accessRows } from './interface-access.ts';
import { bodies } from './interface-bodies.ts';
import { endpointRows } from './interface-endpoints.ts';
import { noteRows } from './interface-notes.ts';
import type { Proof, Row, Source } from './interface-row.ts';
import { ruleRows } from './interface-rules.ts';
import { type Nested, type Resource, responses, type Scalar, type Shape } from './interface-shapes.ts';

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
    const client: Source = [place.file, place.symbol];
    const emulator: Source = [shape.emulator.file, `${shape.emulator.symbol}.${name}`];
    return {
      section: resource.section,
      name: path,
      client,
      emulator,
      tests: tests(path),
      field: { at: resource.at, path, type },
    };
  });
}

const takenApart: Proof = ['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it'];
const whole: Proof = ['service/fields.test.ts', 'the client reads every documented field of %s'];
const noAnswer: Proof = ['service/wire.test.ts', 'decodeMemberships › rejects an answer without a list: %s'];
const played: Proof = ['service/fields.test.ts', 'the emulator sends all fields of %s except listed fields'];
const sent: Proof = ['service/requests.test.ts', 'the client sends every documented field of %s'];

/** Which the emulator does not answer by itself: it plays no campaigns. */
export const unplayed = ['meta.campaign_id', 'meta.campaign_step_id', 'meta.campaign_target_phone'];

const responseRows = Object.values(responses).flatMap((resource: Resource) =>
  fieldRows(resource, (path) => {
    if (path === 'memberships') return [noAnswer, played];
    return unplayed.includes(path) ? [whole, takenApart] : [takenApart, played];
  }),
);
const requestRows = Object.values(bodies).flatMap((resource: Resource) => fieldRows(resource, () => [sent]));

/** In the order of interface.md; what it says of an endpoint's body stands with the endpoints. */
export const sections: readonly string[] = [
  'What the service does',
  'General rules',
  'Resources',
  'Inbox',
  'User',
  'User Group',
  'Team',
  'Contact',
  'Contact field',
  'List',
  'Template',
  'Tag',
  'Link',
  'Survey',
  'Scheduled message',
  'Write result',
  'Shared pagination body',
  'Other shapes',
  'States and transitions',
  'Endpoints',
  'Endpoints: users/get',
  'Endpoints: surveys',
  'Endpoints: tag',
  'Endpoints: conversations/read',
  'Endpoints, note 2: UpdateUser',
  'Endpoints, note 3: ScheduleRequest',
  'Endpoints, notes',
  'Authentication',
  'Authentication: API Secret JWT',
  'Authentication: rotation',
  'Authentication: legacy key',
  'Events',
  'Errors',
  'Limits',
  'Versioning',
];

export const rows: readonly Row[] = [
  ...endpointRows,
  ...noteRows,
  ...responseRows,
  ...requestRows,
  ...ruleRows,
  ...accessRows,
].sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section));
