/** The three versions of a field's value, with the differences marked in them. */
import { differenceWithin } from './difference-within.ts';
import { type Html, html, none } from './html.ts';
import { sides } from './pills.ts';
import type { Id } from '../../model/id.ts';
import { withRoleName } from '../../model/named-roles.ts';
import type { PageContext } from './view.ts';
import { visible } from './words.ts';

export type Side = 'mirror' | 'service';

export interface FieldOfTeam {
  readonly teamId: Id | null;
  readonly field: string;
}

/** A value from the database as text; `null` if it is empty. An object is a name with two halves. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value !== 'object') return String(value as string | number | bigint | boolean);
  const { first, last } = value as { readonly first?: string; readonly last?: string };
  return [first, last].filter((half = '') => half !== '').join(' ') || null;
}

/** The length of the longest phone number with its plus sign. Such a number stays on one line. */
const longestPhone = 16;

function mono(field: string, text: string, inner: Html): Html {
  const isWhole = field === 'phone' && text.length <= longestPhone;
  return html`<bdi class="${isWhole ? 'value nowrap' : 'value'}">${inner}</bdi>`;
}

/** An email breaks after `.` and `_` and before `@`, rather than within a word. */
function parted(field: string, text: string): Html {
  const parts = field === 'email' ? text.split(/(?<=[._])|(?=@)/) : [text];
  return html`${parts.map((part, i) => html`${i === 0 ? none : html`<wbr>`}${visible(part)}`)}`;
}

export const noValue: Html = html`<span class="none">none</span>`;
const notShown: Html = html`<span class="none">not shown</span>`;

/** Fields that are not personal data. Every other field identifies a person or is a way to reach one. */
const impersonal: ReadonlySet<string> = new Set(['role_id', 'tag']);

type Shown = Pick<PageContext, 'details' | 'roleNames'>;

/** A value as text for people. A role is shown as its name with its id. */
export const knownText = ({ roleNames }: Shown, { teamId, field }: FieldOfTeam, value: unknown) =>
  textOf(withRoleName(roleNames, teamId, field, value));

export const isShown = ({ details }: Pick<PageContext, 'details'>, field: string): boolean =>
  details || impersonal.has(field);

export function value(context: Shown, of: FieldOfTeam, shownValue: unknown): Html {
  const text = knownText(context, of, shownValue);
  if (text === null) return noValue;
  return isShown(context, of.field) ? mono(of.field, text, parted(of.field, text)) : notShown;
}

/** A value, in which the part that differs from another value has the color of the side that it comes from. */
export function changed(
  context: Shown,
  of: FieldOfTeam,
  { to, from, side }: { readonly to: unknown; readonly from: unknown; readonly side: Side },
): Html {
  const { field } = of;
  const [text, other] = [knownText(context, of, to), knownText(context, of, from)];
  if (!isShown(context, field)) return text === null ? noValue : notShown;
  if (text === null) return html`<mark class="${side} none">none</mark>`;
  if (text === other) return mono(field, text, parted(field, text));
  const [head, marked, tail] = differenceWithin(other ?? '', text).map((part) => parted(field, part));
  return mono(field, text, html`${head}<mark class="${side}">${marked}</mark>${tail}`);
}

interface ThreeVersions extends FieldOfTeam {
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
}

/** One of the three versions of a value. If a side still has the last agreed value, the word "same" is shown. */
export function version(context: Shown, of: ThreeVersions, which: 'base' | Side): Html {
  if (which === 'base') return value(context, of, of.base);
  return textOf(of[which]) === textOf(of.base)
    ? html`<span class="none">same</span>`
    : changed(context, of, { to: of[which], from: of.base, side: which });
}

export const headOfThree: readonly [Html, Html, Html] = [
  html`${sides.base} Last agreed`,
  html`${sides.mirror} Mirror`,
  html`${sides.service} Service`,
];

export const legend: Html = html`<p class="row note legend">${headOfThree.map((head) => html`<span>${head}</span>`)}</p>`;
