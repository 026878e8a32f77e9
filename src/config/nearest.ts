/** Guesses which known name a person meant by an unknown name. */

/** The name without case and separators, because wrong names often differ only in these. */
const plain = (name: string) => name.toLowerCase().replaceAll(/^musterd_|[^a-z0-9]/g, '');

/** The number of letters to insert, remove or replace to turn one name into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const [left = 0, above = 0, diagonal = 0] = [next[j], row[j + 1], row[j]];
      next.push(Math.min(left + 1, above + 1, diagonal + (a[i] === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The nearest of these names, or `undefined` if more than a third of the letters differ. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const wanted = plain(name);
  const [best] = names
    .map((known) => ({ known, far: distance(wanted, plain(known)) }))
    .filter(({ far }) => far <= wanted.length / 3)
    .toSorted((a, b) => a.far - b.far);
  return best?.known;
}

/** A suggestion to append to a complaint about the name. */
export function suggestion(name: string, names: readonly string[]): string {
  const nearestName = nearest(name, names);
  return nearestName === undefined ? '' : `; did you mean ${nearestName}?`;
}
