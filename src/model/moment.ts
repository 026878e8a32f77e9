/** Times that a person or a script writes, in ISO 8601, and in UTC if there is no zone. */

const iso =
  /^(\d{4}-\d\d-(\d\d))(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)([Zz]|[+-](?:0\d|1[0-4]):?[0-5]\d)?)?$/;

/** The moment in ms since 1970, or NaN if the text is none. `Date.parse` would take 30 February for a day of March. */
export function momentMs(text: string): number {
  const [, date, day, time = '00:00', zone = 'Z'] = iso.exec(text) ?? [];
  const isDay = new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
  return isDay ? Date.parse(`${date}T${time}${zone.toUpperCase()}`) : Number.NaN;
}

/** A time, or a number of seconds from now by the database's clock. */
export type TimeFromNow = { readonly moment: string } | { readonly seconds: number };
