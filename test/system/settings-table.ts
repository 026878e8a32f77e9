/** The part of docs/settings.md that is made from the schema: all settings, section by section. */
import { z } from 'zod';
import { fileSchema, teamSections } from '../../src/config/config.ts';
import { ownVariables } from '../../src/config/environment.ts';

interface Schema {
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** What a setting may be, once it is read: the input would say that a number may be written as text. */
const schema = z.toJSONSchema(fileSchema, {
  io: 'output',
  target: 'draft-7',
  unrepresentable: 'any',
}) as Schema;

const asCode = (text: string) => `\`${text}\``;

function rangeOf({ minimum = 0, exclusiveMinimum, maximum = Number.MAX_SAFE_INTEGER }: Schema): string {
  if (exclusiveMinimum !== undefined) return `above ${exclusiveMinimum}, at most ${maximum}`;
  if (maximum < Number.MAX_SAFE_INTEGER) return `${minimum} to ${maximum}`;
  return minimum > 0 ? `at least ${minimum}` : '';
}

function typeOf(setting: Schema): string {
  const { type, enum: words, anyOf: [first, ...others] = [] } = setting;
  const otherWords = others.flatMap(({ const: other }) => (other === undefined ? [] : [asCode(other)]));
  if (first !== undefined) return [typeOf(first), ...otherWords].join(', ');
  if (words !== undefined) return words.map(asCode).join(', ');
  if (type === 'string')
    return (setting.minLength ?? 1) > 1 ? `text of at least ${setting.minLength} characters` : 'text';
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'array') return 'list';
  if (type === 'object') return 'mapping';
  const range = rangeOf(setting);
  return `${type === 'integer' ? 'whole number' : 'number'}${range === '' ? '' : `, ${range}`}`;
}

/** Its own variable, or else the general one. */
function variableOf(path: string): string {
  const [own] = Object.entries(ownVariables).find(([, inner]) => inner.join('.') === path) ?? [];
  return own ?? `MUSTERD__${path.replaceAll('.', '__')}`;
}

function rowsOf(path: string, setting: Schema): readonly string[] {
  const { description, properties } = setting;
  if (description === undefined)
    return Object.entries(properties ?? {}).flatMap(([name, inner]) => rowsOf(`${path}.${name}`, inner));
  const [section = ''] = path.split('.');
  const shown = typeof setting.default === 'string' ? setting.default : JSON.stringify(setting.default);
  const cells = [
    asCode(path),
    asCode(variableOf(path)),
    typeOf(setting),
    shown === undefined ? '–' : asCode(shown),
    teamSections.has(section) ? 'yes' : 'no',
    description,
  ];
  return [`| ${cells.map((cell) => cell.replaceAll(/[|<]/g, '\\$&')).join(' | ')} |`];
}

export const settingsTable = [
  '| Setting | Environment | Type | Default | Per team | Meaning |',
  '|---|---|---|---|---|---|',
  ...Object.entries(schema.properties ?? {}).flatMap(([name, setting]) => rowsOf(name, setting)),
  '',
].join('\n');
