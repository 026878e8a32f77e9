/**
 * The points that the interface leaves open, as one table. Each line is a way in which deployments differ, with its
 * values and the default. On a command line: `--variant name=value`.
 */

export interface VariantChoice<V extends string> {
  readonly values: readonly V[];
  /** True if a positive whole number is allowed, too. */
  readonly number: false;
  readonly default: V;
  readonly plays: string;
}

export interface VariantChoiceOrNumber<V extends string> {
  readonly values: readonly V[];
  readonly number: true;
  readonly default: V | number;
  readonly plays: string;
}

function choice<const V extends string>(values: readonly [V, ...V[]], plays: string): VariantChoice<V> {
  return { values, number: false, default: values[0], plays };
}

function choiceOrNumber<const V extends string>(
  values: readonly V[],
  standard: V | number,
  plays: string,
): VariantChoiceOrNumber<V> {
  return { values, number: true, default: standard, plays };
}

const pageValues = ['base-0', 'base-1', 'base-1-empty', 'base-1-refused', 'ignored', 'date-cursor'] as const;

export const variantTable = {
  pages: choice(
    pageValues,
    'Page numbering of the listings. base-1: page 0 answers like page 1; base-1-empty: page 0 is an empty list; base-1-refused: page 0 is a 400; ignored: every page is the first, and so is every date; date-cursor: page is ignored, only `date` moves on.',
  ),
  'field-pages': choice(['same', ...pageValues], 'Page numbering of the contact fields, when it differs.'),
  'survey-pages': choice(['same', ...pageValues], 'Page numbering of the surveys, when it differs.'),
  'default-limit': choiceOrNumber([], 30, 'Rows on a page when no limit is sent.'),
  'limit-cap': choiceOrNumber(['none'], 'none', 'The largest limit.'),
  'over-cap': choice(['clamp', 'refuse'], 'What a limit above the cap does: silently the cap, or a 400.'),
  order: choice(['newest-first', 'oldest-first'], 'The order of the listings when `ascending` is not sent.'),
  'unknown-order': choice(['ignore', 'refuse'], 'An `order` other than created_at and updated_at.'),
  'unfiltered-users': choiceOrNumber(
    ['all', 'none', 'refuse'],
    'all',
    'GET /v1/users/get without a filter: the whole team, an empty list, a 400, or at most that many.',
  ),
  'email-lookup': choice(['any-case', 'exact'], 'Whether users/get finds an email written in another case.'),
  'member-extras': choice(['none', 'email-phone'], "Undocumented keys in the team's members."),
  blank: choice(['empty', 'null', 'absent'], 'How a user without an email or a phone is written.'),
  'value-types': choice(
    ['documented', 'swapped', 'odd'],
    "A user's phone and role_id as documented; the phone as a number and the role as a text; both as objects.",
  ),
  fraction: choice(['3', '0', '6', '9', 'mixed'], 'Fraction digits of timestamps; mixed: no trailing zeros.'),
  'empty-list': choice(
    ['object', 'refused'],
    'What `[]` is in a body where an object is documented: an empty object, as some clients mean it, or a 400.',
  ),
  'count-body': choice(['string', 'integer'], 'The body of POST /v1/contacts/count.'),
  revisions: choice(['present', 'absent'], '`rev` and `op` of synchronised resources.'),
  'missing-fields': choice(['none', 'some'], 'Whether documented fields are left out of some rows.'),
  'extra-fields': choice(['none', 'some'], 'Whether rows carry fields that nobody documented.'),
  nulls: choice(['none', 'some'], 'Whether documented strings are null in some rows.'),
  invited: choice(['list', 'boolean'], "An inbox's `invited`."),
  phones: choice(['digits', 'plus', 'mixed'], 'Whether phones are read with a plus sign.'),
  'email-case': choice(['kept', 'lowered'], 'What a written email is stored as.'),
  'name-spaces': choice(['kept', 'collapsed'], 'What the spaces of a written name become.'),
  'name-cap': choiceOrNumber(['none'], 'none', 'Half names longer than that many characters are cut.'),
  'phone-writes': choice(
    ['checked', 'digits', 'kept'],
    'A written phone: a 400 unless empty or 7 to 15 digits; reduced to its digits; stored as it came.',
  ),
  'email-writes': choice(
    ['checked', 'kept'],
    'A written email: a 400 unless it has an @; stored as it came.',
  ),
  'email-update': choice(
    ['keeps-name', 'clears-name'],
    'What an update without both names does to the name.',
  ),
  'unknown-user': choice(['refuse', 'skip'], 'An update of an id that the team has not: a 400, or left out.'),
  'unknown-role': choice(['refuse', 'accept'], 'An update to a role_id that the team has not.'),
  'refused-update': choice(
    ['atomic', 'prefix'],
    'What a 400 for one user of an update leaves: nothing written, or the users before it.',
  ),
  'updated-at': choice(['moves', 'stuck'], "Whether a write moves the user's updated_at."),
  'future-iat': choice(
    ['five-minutes', 'thirty-seconds', 'none', 'any'],
    "How far a token's `iat` may lie ahead of the service's clock.",
  ),
  'rate-window': choice(
    ['sliding', 'fixed', 'bucket'],
    'How 500 a minute are counted: in any 60 s; from minute to minute; a bucket that refills evenly.',
  ),
  'retry-after': choice(['absent', 'seconds', 'date', 'nonsense'], 'Retry-After on a 429.'),
  'same-tag': choice(
    ['another', 'existing', 'refused'],
    'POST /v1/tag of a name that is there: a second tag, the first, or a 400.',
  ),
  'tag-names': choice(
    ['exact', 'any-case', 'any-spaces', 'any-form', 'any'],
    'What two names of tags may differ in and still be the same one: nothing; the case; spaces at the ends and their number; the Unicode form; all of these.',
  ),
  'tag-spaces': choice(['kept', 'collapsed'], 'What the spaces of a new tag become.'),
  'schedule-answer': choice(['full', 'id-only'], 'What creating a scheduled message answers.'),
  'schedule-grid': choiceOrNumber(['none'], 15, 'execute_at falls on a multiple of that many minutes.'),
  'schedule-margin': choiceOrNumber(['none'], 15, 'The minutes that execute_at lies ahead at least.'),
  'schedule-creator': choice(
    ['checked', 'off'],
    'A schedule whose user_id is no member of the inbox: a 400, or taken.',
  ),
  'local-id': choice(
    ['unique', 'ignored', 'refused'],
    'A new schedule whose local_id was sent before: the first message, cancelled or not; a second one; or a 400.',
  ),
  'sent-change': choice(
    ['refused', 'missing'],
    'To replace or cancel a message that has been sent: a 400, or a 404.',
  ),
  'sent-read': choice(['shown', 'missing'], 'To read a message that has been sent: shown, or a 404.'),
  'cancelled-read': choice(
    ['missing', 'shown'],
    'To read a message that was cancelled: a 404, or shown with the op delete.',
  ),
} as const;

export type VariantTable = typeof variantTable;
export type VariantValueOf<C> =
  C extends VariantChoiceOrNumber<infer V> ? V | number : C extends VariantChoice<infer V> ? V : never;

export type VariantName = keyof VariantTable;
/** One value for each line of the table. */
export type Variants = { [Name in VariantName]: VariantValueOf<VariantTable[Name]> };

export const variantNames = Object.keys(variantTable) as readonly VariantName[];

export function defaultVariants(): Variants {
  return Object.fromEntries(variantNames.map((name) => [name, variantTable[name].default])) as Variants;
}

/** The values in words, such as `base-0 | base-1 | …` or `none | <number>`. */
export function variantValues(name: VariantName): string {
  const { values, number } = variantTable[name];
  return [...values, ...(number ? ['<number>'] : [])].join(' | ');
}

/** `name=value` texts as given on a command line; later texts win. Throws an Error that lists what is valid. */
export function parseVariants(texts: readonly string[]): Partial<Variants> {
  return Object.fromEntries(texts.map(parseVariant)) as Partial<Variants>;
}

function parseVariant(text: string): readonly [VariantName, string | number] {
  const [, given = text, value = ''] = /^([^=]*)=(.*)$/s.exec(text.trim()) ?? [];
  const name = variantNames.find((candidate) => candidate === given.trim());
  if (name === undefined) {
    throw new Error(`There is no variant "${given}". Valid names: ${variantNames.join(', ')}.`);
  }
  const { values, number } = variantTable[name];
  const choice = values.find((candidate) => candidate === value.trim());
  if (choice !== undefined) return [name, choice];
  if (number && /^[1-9]\d{0,8}$/.test(value.trim())) return [name, Number(value)];
  throw new Error(`The variant ${name} cannot be "${value}". Valid: ${variantValues(name)}.`);
}
