/**
 * The fields of a user that can be written to the service. All code that reads, stores, compares, sends or shows them
 * uses this table. A new field needs a row here and a migration for its column.
 */
import { canonicalEmail, canonicalPhone, canonicalRoleId, stored } from './canonical.ts';
import type { Id } from './id.ts';
import type { NamePair } from './name.ts';

interface ValueOf {
  readonly text: string | null;
  readonly bigint: Id | null;
}

/** A field with a single value. An empty text counts as no value. */
interface SingleField<Type extends keyof ValueOf = keyof ValueOf> {
  /** The field's name in SQL, in JSON and on the service. */
  readonly column: string;
  readonly type: Type;
  /** The field's name for people. */
  readonly noun: string;
  /** True if the service allows removing the value. */
  readonly canBeEmptied: boolean;
  /** The canonical form of a value. Values are compared with the service in this form. */
  canonical(this: void, value: ValueOf[Type]): string;
  /** The reason, in words, why a non-empty value cannot be sent; `undefined` if it can. */
  flaw(this: void, value: NonNullable<ValueOf[Type]>): string | undefined;
  /** The value in the form in which it is sent. */
  encode(this: void, value: ValueOf[Type]): ValueOf[Type];
}

const text = (field: Omit<SingleField<'text'>, 'type'>): SingleField<'text'> => ({ type: 'text', ...field });
const number = (field: Omit<SingleField<'bigint'>, 'type'>): SingleField<'bigint'> => ({
  type: 'bigint',
  ...field,
});

const noFlaw = () => undefined;
const asItIs = <T>(value: T) => value;

const singleFields = {
  email: text({
    column: 'email',
    noun: 'email',
    canBeEmptied: false,
    canonical: canonicalEmail,
    flaw: noFlaw,
    encode: asItIs,
  }),
  phone: text({
    column: 'phone',
    noun: 'phone',
    canBeEmptied: true,
    canonical: canonicalPhone,
    flaw: (phone) => (/[0-9]/.test(phone) ? undefined : 'the phone number has no digits'),
    /** Digits "in E.164 form without the plus sign"; empty to remove the phone (interface.md, Endpoints, note 2). */
    encode: canonicalPhone,
  }),
  roleId: number({
    column: 'role_id',
    noun: 'role',
    canBeEmptied: false,
    canonical: canonicalRoleId,
    flaw: noFlaw,
    encode: asItIs,
  }),
};

type Singles = typeof singleFields;
export type SingleName = keyof Singles;
export type Field = 'name' | SingleName;

export type SingleValues = { readonly [F in SingleName]: ValueOf[Singles[F]['type']] };

/** The values of a user that can be written to the service. The name is one value with two halves. */
export interface UserValues extends SingleValues {
  readonly name: NamePair;
}

export type FieldValue = UserValues[Field];
export type SingleValue = SingleValues[SingleName];

export const singleNames = Object.keys(singleFields) as readonly SingleName[];
export const fields: readonly Field[] = ['name', ...singleNames];

/** The properties of a field with a single value. */
export const single = (field: SingleName): SingleField => singleFields[field];

export const isText = (field: SingleName): boolean => single(field).type === 'text';

/** Makes a value for each field with a single value. */
export function eachSingle<T>(valueFor: (field: SingleName) => T): Readonly<Record<SingleName, T>> {
  return Object.fromEntries(singleNames.map((field) => [field, valueFor(field)])) as Record<SingleName, T>;
}

export const singlesOf = (find: (field: SingleName) => SingleValue): SingleValues =>
  eachSingle(find) as SingleValues;

/** The name of a field in SQL and JSON. The field `name` is called `name`, although it has two columns. */
export const columnOf = (field: Field): string => (field === 'name' ? field : single(field).column);

export const fieldColumns: readonly string[] = fields.map(columnOf);

/** @throws Error if no field has this column */
export function fieldOf(column: string): Field {
  const field = fields.find((candidate) => columnOf(candidate) === column);
  if (field === undefined) throw new Error(`no field is called ${column}`);
  return field;
}

/** The values of a user about whom nothing is known. */
export const emptyValues: UserValues = { name: { first: '', last: '' }, ...singlesOf(() => null) };

/** The values in a row of a query, whose column names can have a prefix. */
export function valuesIn(row: object, prefix = ''): UserValues {
  const found = row as Readonly<Record<string, unknown>>;
  return {
    name: { first: found[`${prefix}first_name`] as string, last: found[`${prefix}last_name`] as string },
    ...singlesOf((field) => found[prefix + columnOf(field)] as SingleValue),
  };
}

/** The value as mirror and base store it. */
export const storedValue = (value: SingleValue): SingleValue =>
  typeof value === 'string' ? stored(value) : value;

/** The reason why a single value cannot be sent, in words; `undefined` if it can. */
export function flawOf(field: SingleName, value: SingleValue): string | undefined {
  const { noun, canBeEmptied, flaw } = single(field);
  const storedForm = storedValue(value);
  if (storedForm !== null) return flaw(storedForm);
  const article = /^[aeiou]/.test(noun) ? 'an' : 'a';
  return canBeEmptied ? undefined : `the service gives no way to remove ${article} ${noun}`;
}

/** A value as people type it in a command, which `readValue` of `runs/decide/read-take.ts` reads back. */
export function typedText(value: FieldValue): string {
  if (value === null) return '';
  return typeof value === 'object' ? `${value.first}|${value.last}` : String(value);
}
