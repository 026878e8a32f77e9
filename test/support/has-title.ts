/** Whether a title of a test stands in this source as one whole literal, however it is quoted. */
export function hasTitle(source: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => source.includes(quote + title + quote));
}
