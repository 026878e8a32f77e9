/** HTML that was made here, which is put into other HTML as it is. */
export interface Markup {
  readonly html: string;
}

type Part = Markup | string | number | readonly Part[];

/** HTML as a tagged template: every text that is put in is escaped. Every attribute needs quotes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { html: strings.reduce((html, text, at) => html + written(parts[at - 1] ?? '') + text) };
}

function written(part: Part): string {
  if (typeof part === 'object') return 'html' in part ? part.html : part.map(written).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
