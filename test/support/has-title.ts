/** Whether a title of a test stands in this source as one whole literal, however it is quoted. */
export function hasTitle(source: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => source.includes(quote + title + quote));
}

/** The titles of this source that end with this id of a document, such as `(D2)` or `(A16, O6)`. */
export const titlesWith = (source: string, id: string): readonly string[] =>
  [...source.matchAll(/(['"`])((?:(?!\1)[^\n])+ \(([A-Z]\d+(?:, [A-Z]\d+)*)\))\1/g)].flatMap(
    ([, , title = '', ids = '']) => (ids.split(', ').includes(id) ? [title] : []),
  );
