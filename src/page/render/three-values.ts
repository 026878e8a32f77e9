/** A field's value in its three versions, with the difference marked within it. */
import { differenceWithin } from './difference-within.ts';
import { type Html, html, none } from './html.ts';
import { sides } from './pills.ts';
import type { Id } from '../../model/id.ts';
import { withRoleName } from '../../model/named-roles.ts';
import type { PageContext } from './view.ts';
import { visible } from './words.ts';

export type Side = 'mirror' | 'service';

/** A field of somebody in a team. */
export interface FieldOfTeam {
  readonly teamId: Id | null;
  readonly field: string;
}

/** A value of the database as text; `null` if there is none. An object is a name. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value !== 'object') return String(value as string | number | bigint | boolean);
  const { first, last } = value as { readonly first?: string; readonly last?: string };
  return [first, last].filter((half = '') => half !== '').join(' ') || null;
}

/** The length of the longest phone number with its sign, which stays in one line. */
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

/** Values of these fields say who somebody is, or how to reach them. */
const personal: ReadonlySet<string> = new Set([
  'name',
  'first_name',
  'last_name',
  'email',
  'phone',
  'message',
  'conversation_read',
]);

/** A value as people know it, with the name of a role. */
export const knownAs = (context: Pick<PageContext, 'roleNames'>, of: FieldOfTeam, value: unknown): unknown =>
  withRoleName(context.roleNames, of.teamId, of.field, value);

export const isShown = ({ details }: Pick<PageContext, 'details'>, field: string): boolean =>
  details || !personal.has(field);

/** A single value. */
export function value(context: Pick<PageContext, 'details'>, field: string, shownValue: unknown): Html {
  const text = textOf(shownValue);
  if (text === null) return noValue;
  return isShown(context, field) ? mono(field, text, parted(field, text)) : notShown;
}

/** A value, with its difference from another one marked in the colour of the side that has it. */
export function changed(
  context: Pick<PageContext, 'details'>,
  field: string,
  { to, from, side }: { readonly to: unknown; readonly from: unknown; readonly side: Side },
): Html {
  const text = textOf(to);
  const other = textOf(from);
  if (!isShown(context, field)) return text === null ? noValue : notShown;
  if (text === null) return html`<mark class="${side} none">none</mark>`;
  if (text === other) return mono(field, text, parted(field, text));
  const spans = differenceWithin(other ?? '', text);
  return mono(
    field,
    text,
    html`${spans.map((span) => (span.kind === 'same' ? parted(field, span.text) : html`<mark class="${side}">${parted(field, span.text)}</mark>`))}`,
  );
}

export interface ThreeVersions {
  readonly field: string;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
}

/** The three values in their order. One that is the same is a word. */
export function three(
  context: Pick<PageContext, 'details'>,
  { field, base, mirror, service }: ThreeVersions,
): readonly [Html, Html, Html] {
  const agreed = textOf(base);
  const ofSide = (sideValue: unknown, side: Side) =>
    textOf(sideValue) === agreed
      ? html`<span class="none">same</span>`
      : changed(context, field, { to: sideValue, from: base, side });
  return [value(context, field, base), ofSide(mirror, 'mirror'), ofSide(service, 'service')];
}

export const headOfThree: readonly [Html, Html, Html] = [
  html`${sides.base} Last agreed`,
  html`${sides.mirror} Mirror`,
  html`${sides.service} Service`,
];

/** The legend of the three signs. */
export const legend: Html = html`<p class="row note legend">${headOfThree.map((head) => html`<span>${head}</span>`)}</p>`;
