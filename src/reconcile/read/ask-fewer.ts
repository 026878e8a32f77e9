/**
 * Some deployments answer only for a limited number of addresses per request, and leave other users out. So users who
 * were not found are looked up again by the addresses without a result, with fewer addresses at a time, down to one.
 * If the first two of these requests for emails find no user, the search ends: the earlier answers were complete.
 * Phones are handled in the same way, so members who cannot be found cost at most four requests a run.
 */
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import { readable, type ServiceUser } from '../../model/user.ts';
import { chunks } from '../chunks.ts';

type Kind = 'emails' | 'phones';

/** If this many first requests for emails find no user, the search ends. The same holds for phones. */
const maxIdle = 2;

const formOf = { emails: canonicalEmail, phones: canonicalPhone };

function openOf(kind: Kind, addresses: readonly string[], users: Iterable<ServiceUser>): readonly string[] {
  const found = new Set<string>();
  for (const { email, phone } of users)
    found.add(formOf[kind](readable(kind === 'emails' ? email : phone) ?? null));
  return addresses.filter((address) => !found.has(formOf[kind](address)));
}

/**
 * @param addresses the addresses that were asked for before, at most `size` at once
 * @param ask makes one request, and adds the users that it found to `users`
 */
export async function askForFewer(
  kind: Kind,
  { addresses, size }: { readonly addresses: readonly string[]; readonly size: number },
  users: ReadonlyMap<unknown, ServiceUser>,
  wanted: () => boolean,
  ask: (addresses: readonly string[]) => Promise<void>,
): Promise<void> {
  let atOnce = Math.min(size, addresses.length);
  let idle = 0;
  let helps = false;
  while (atOnce > 1) {
    const open = openOf(kind, addresses, users.values());
    const before = users.size;
    atOnce = Math.ceil(Math.min(atOnce, open.length) / 2);
    for (const some of open.length === 0 ? [] : chunks(open, atOnce)) {
      if (!wanted()) return;
      const foundBefore = users.size;
      await ask(some);
      helps ||= users.size > foundBefore;
      idle += 1;
      if (!helps && idle >= maxIdle) return;
    }
    if (users.size === before) return;
  }
}
