/** Times that a person or a script writes, in ISO 8601. Without a zone they are in UTC. */

const iso =
  /^(\d{4}-\d\d-(\d\d))(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)([Zz]|[+-](?:0\d|1[0-4]):?[0-5]\d)?)?$/;

/** The time in ms since 1970; NaN if the text is not a time. `Date.parse` would read 30 February as a day in March. */
export function momentMs(text: string): number {
  const [, date, day, time = '00:00', zone = 'Z'] = iso.exec(text) ?? [];
  const isDay = new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
  return isDay ? Date.parse(`${date}T${time}${zone.toUpperCase()}`) : Number.NaN;
}

/** A time, or a number of seconds from now by the database's clock. */
export type TimeFromNow = { readonly moment: string } | { readonly seconds: number };
