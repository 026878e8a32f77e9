/** HTML as a tagged template: whatever is put in is escaped, but for what was made here itself. */
import { html as tagged, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString;

/** Lists are joined; `null`, `undefined` and `false` are nothing. Every attribute stands in quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = tagged(strings, ...values.map(nothing));
  // It would be one only if a value were one.
  if (made instanceof Promise) throw new TypeError('a promise is no part of a page');
  return made;
}

const nothing = (value: unknown) => (value === null || value === undefined || value === false ? '' : value);

/** For a text that is HTML already, made here. */
export { raw };

export const none: Html = html``;
