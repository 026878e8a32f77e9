/** HTML as a tagged template: whatever is put in is escaped, except for HTML that was made here. */
import { html as tagged, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString;

/** Lists are joined; `null`, `undefined` and `false` are nothing. Every attribute needs quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = tagged(strings, ...values.map(nothing));
  // It is a promise only if one of the values is.
  if (made instanceof Promise) throw new TypeError('a promise is no part of a page');
  return made;
}

const nothing = (value: unknown) => (value === null || value === undefined || value === false ? '' : value);

export { raw };

export const none: Html = html``;
