/** How much of the rate limit is used while many edits are sent: the bench and the tests count in this one way. */

export interface Arrived {
  readonly atMs: number;
  readonly path: string;
}

/** So many may leave at once after a quiet time, and some are ahead of them: from then on it is the pace that counts. */
const leaveAtOnce = 25;

/** What arrives from then on to the last update, by what the limit lets through in that time, as a part of 1. */
export function useOfLimit(requests: readonly Arrived[], perMinute: number): number {
  const isUpdate = ({ path }: Arrived) => path === '/v1/users/update';
  const steady = requests.slice(
    requests.findIndex(isUpdate) + leaveAtOnce,
    requests.findLastIndex(isUpdate) + 1,
  );
  const [first, last] = [steady[0], steady.at(-1)];
  if (first === undefined || last === undefined || first === last)
    throw new Error('too few requests to tell');
  return ((steady.length - 1) * 60_000) / (last.atMs - first.atMs) / perMinute;
}
