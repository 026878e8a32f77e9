/**
 * The fields of a user that can be written to the service. Whatever reads, stores, compares, sends or shows them goes by
 * this table: another field is a row here and a migration that adds its column.
 */
import { canonicalEmail, canonicalPhone, canonicalRoleId, stored } from './canonical.ts';
import type { Id } from './id.ts';
import type { NamePair } from './name.ts';

interface ValueOf {
  readonly text: string | null;
  readonly bigint: Id | null;
}

/** A field of one value. An empty text counts as none. */
interface SingleField<Type extends keyof ValueOf = keyof ValueOf> {
  /** What SQL, JSON and the service call it. */
  readonly column: string;
  readonly type: Type;
  /** What a person calls it. */
  readonly noun: string;
  /** Whether the service lets a value be removed. */
  readonly canBeEmptied: boolean;
  /** The form in which it is compared with the service. */
  canonical(this: void, value: ValueOf[Type]): string;
  /** Why a value that is not empty cannot be sent, in words. */
  flaw(this: void, value: NonNullable<ValueOf[Type]>): string | undefined;
  /** The value as the service takes it. */
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
    /** Digits "in E.164 form without the plus sign"; none is sent as the empty string (interface.md, Endpoints, note 2). */
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

/** The values of the fields of one value each. */
export type SingleValues = { readonly [F in SingleName]: ValueOf[Singles[F]['type']] };

/** The values of a user that can be written to the service. The name is one value of two halves. */
export interface UserValues extends SingleValues {
  readonly name: NamePair;
}

/** Any one value of a user. */
export type FieldValue = UserValues[Field];
export type SingleValue = SingleValues[SingleName];

export const singleNames = Object.keys(singleFields) as readonly SingleName[];
export const fields: readonly Field[] = ['name', ...singleNames];

/** What is to be known of a field of one value. */
export const single = (field: SingleName): SingleField => singleFields[field];

export const isText = (field: SingleName): boolean => single(field).type === 'text';

/** A value for each field of one value. */
export function eachSingle<T>(of: (field: SingleName) => T): Readonly<Record<SingleName, T>> {
  return Object.fromEntries(singleNames.map((field) => [field, of(field)])) as Record<SingleName, T>;
}

/** The values of the fields of one value each, as they are found under their own names. */
export const singlesOf = (find: (field: SingleName) => SingleValue): SingleValues =>
  eachSingle(find) as SingleValues;

/** The name of a field in SQL and JSON; that of the name stands for both of its columns. */
export const columnOf = (field: Field): string => (field === 'name' ? field : single(field).column);

/** The names of all fields in SQL and JSON. */
export const fieldColumns: readonly string[] = fields.map(columnOf);

/** @throws Error for a column that is no field's */
export function fieldOf(column: string): Field {
  const field = fields.find((one) => columnOf(one) === column);
  if (field === undefined) throw new Error(`no field is called ${column}`);
  return field;
}

/** A user about whom nothing is known. */
export const emptyValues: UserValues = { name: { first: '', last: '' }, ...singlesOf(() => null) };

/** The values in a row of SQL, whose columns may have a prefix. */
export function valuesIn(row: object, prefix = ''): UserValues {
  const found = row as Readonly<Record<string, unknown>>;
  return {
    name: { first: found[`${prefix}first_name`] as string, last: found[`${prefix}last_name`] as string },
    ...singlesOf((field) => found[prefix + columnOf(field)] as SingleValue),
  };
}

/** A value as mirror and base store it. */
export const storedValue = (value: SingleValue): SingleValue =>
  typeof value === 'string' ? stored(value) : value;

/** Why the value of a field of one value cannot be sent, in words; `undefined` if it can. */
export function flawOf(field: SingleName, value: SingleValue): string | undefined {
  const { noun, canBeEmptied, flaw } = single(field);
  const known = storedValue(value);
  if (known !== null) return flaw(known);
  const article = /^[aeiou]/.test(noun) ? 'an' : 'a';
  return canBeEmptied ? undefined : `the service gives no way to remove ${article} ${noun}`;
}
