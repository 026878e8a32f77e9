/** Reads phone numbers as people and spreadsheets write them. */
import { canonicalPhone } from '../../../model/canonical.ts';

const made = (text: string) =>
  /^[0-9.,]+e\+?[0-9]+$/i.test(text) ? ': a spreadsheet has turned it into a number' : '';

/** Removes decimals that mean nothing, as in 41790000000.0. */
export const withoutDecimals = (text: string): string => /^(\+?[0-9]+)\.0+$/.exec(text)?.[1] ?? text;

/** Countries in which a zero at the beginning belongs to the number: Italy, San Marino and the Vatican. */
const keepsZero = /^(?:39|378|379)/;
/** Countries that dial no zero before numbers: North America, Russia, Greece, Spain, Denmark, Norway and others. */
const hasNoTrunk = /^(?:1|7|30|34|45|47|48|65|350|351|352|354|356|357|371|372|420|852|853)$/;
const international = /^(?:\+|00)([0-9 ()./\u2010-\u2015-]+)$/u;
const national = /^[0-9 ()./\u2010-\u2015-]+$/u;

const clean = (given: string) => withoutDecimals(given.replace(/\p{Cf}/gu, '').replace(/\s/gu, ' '));

/** Adds the country's code to the digits of a national number; `undefined` if they are not of this country. */
function inCountry(country: string, digits: string): string | undefined {
  const trunk = country === '36' ? '06' : '0';
  if (keepsZero.test(country) && digits.startsWith('0')) return `${country}${digits}`;
  if (digits.startsWith(trunk) && !hasNoTrunk.test(country)) return `${country}${digits.slice(trunk.length)}`;
  // North America has no zero before an area code, and all its numbers have ten digits.
  if (country === '1' && /^[2-9][0-9]{9}$/.test(digits)) return `1${digits}`;
  return digits.startsWith(country) ? digits : undefined;
}

/**
 * Reads a number as digits that begin with the country code. `inCountry` has the exceptions of some countries.
 *
 * | how the number is written                  | if `country` is given               | if `null`   |
 * |--------------------------------------------|-------------------------------------|-------------|
 * | with a plus sign or 00                     | the digits after it                 | the same    |
 * | with a zero at the beginning               | the country's code replaces the 0   | refused     |
 * | digits that begin with the country's code  | these digits                        | the same    |
 * | other digits                               | refused                             | the digits  |
 * | in groups, without a plus sign             | as if written without the groups    | refused     |
 *
 * @param country the calling code to assume if a number is written without one; `null` assumes none
 */
export function readPhone(
  given: string,
  country: string | null,
): { readonly digits: string } | { readonly wrong: string } {
  const written = clean(given);
  const wrong = (why: string) => ({
    wrong: `"${written}" is not a phone number with its country code${why}`,
  });
  const trunk = /^((?:\+|00)[0-9 ]+)\(0\)/.exec(written);
  if (trunk !== null && keepsZero.test(canonicalPhone(written).replace(/^00/, '')))
    return wrong(': write the (0) as 0, or leave it out');
  const advice = `: begin it with a plus sign${country === null ? ', or give --country' : ''}`;
  const text = trunk === null ? written : `${trunk[1]}${written.slice(trunk[0].length)}`;
  if (text.includes('(0)')) return wrong(': leave out the (0)');
  const groups = international.exec(text)?.[1];
  if (groups === undefined && !(country === null ? /^[0-9]+$/ : national).test(text))
    return wrong(made(text) || advice);
  const plain = canonicalPhone(groups ?? text);
  const digits = groups === undefined && country !== null ? inCountry(country, plain) : plain;
  if (digits === undefined) return wrong(`, and does not begin with ${country}${advice}`);
  return /^[1-9][0-9]{1,14}$/.test(digits) ? { digits } : wrong(groups === undefined ? advice : '');
}

/** The digits of a number that is written without a country code, else empty. Leading zeros, often lost, are left out. */
export function nationalEnd(given: string): string {
  const text = clean(given);
  return international.test(text) || !national.test(text) ? '' : canonicalPhone(text).replace(/^0+/, '');
}

/** True if a written number is this phone: all digits are equal or, without a country code, the last digits are. */
export function isSamePhone(given: string, phone: string): boolean {
  const [end, digits] = [nationalEnd(given), canonicalPhone(phone)];
  if (made(clean(given))) return false;
  return canonicalPhone(clean(given)) === digits || (end !== '' && digits.endsWith(end));
}

/** ITU-T E.164, Annex: the calling codes of one and two digits; all other codes have three. */
const callingCode = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[0-9]{3})/;

/** The shape of a phone: its calling code, and its number of digits. */
export const shapeOf = (phone: string): string => {
  const digits = canonicalPhone(phone);
  return `${callingCode.exec(digits)?.[0] ?? ''} ${digits.length}`;
};

/** The facts that help to read a number without a country code. */
export interface PhoneHabits {
  readonly country: string | null;
  /** The shapes of the phones that the team has now; see `shapeOf`. */
  readonly shapes: ReadonlySet<string>;
}

/** Reads a user's new number. `unsure` is the reason why a person must agree: the country code is a guess or missing. */
export function readNewPhone(
  given: string,
  now: string | null,
  { country, shapes }: PhoneHabits,
): { readonly digits: string; readonly unsure?: string } | { readonly wrong: string } {
  const read = readPhone(given, country);
  const isWhole = country !== null && clean(given).startsWith('0');
  if (isWhole || nationalEnd(given) === '') return read;
  const usual = now === null ? shapes : new Set([shapeOf(now)]);
  if ('wrong' in read) {
    const [code, ...others] = new Set(usual.values().map((shape) => shape.split(' ')[0] ?? ''));
    const guess = country !== null || others.length > 0 ? read : readPhone(given, code ?? null);
    if ('wrong' in guess) return read;
    return {
      ...guess,
      unsure: `${code} is the country code of ${now ?? 'every phone of the team'}: "${given}" has none`,
    };
  }
  if (usual.size === 0 || usual.has(shapeOf(read.digits))) return read;
  const why = `"${given}" may lack its country code, because ${now ?? 'every phone of the team'} has another code or length`;
  return country === null ? { ...read, unsure: why } : { wrong: `${why}: begin it with a plus sign` };
}
