/** HTML as a tagged template. Inserted values are escaped, unless they are HTML that this template made. */
import { html as tagged, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString;

/** Lists are joined; `null`, `undefined` and `false` insert nothing. Every attribute needs quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = tagged(strings, ...values.map(nothing));
  // The result is a promise only if one of the values is a promise.
  if (made instanceof Promise) throw new TypeError('a promise is no part of a page');
  return made;
}

const nothing = (value: unknown) => (value === null || value === undefined || value === false ? '' : value);

export { raw };

export const none: Html = html``;
