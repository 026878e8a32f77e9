/**
 * Some deployments answer for so many addresses at once and leave the others out. Whoever is still wanted after all
 * addresses were asked for is asked for again, with fewer addresses at a time, down to one. Only what nobody found has
 * is asked for; where the first two requests of a kind, emails or phones, bring nobody, nobody was left out: members
 * whom no lookup knows cost four requests a run at most.
 */
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import { readable, type ServiceUser } from '../../model/user.ts';
import { chunks } from '../chunks.ts';

type Kind = 'emails' | 'phones';

/** Requests of a kind that may bring nobody before anybody is brought. */
const maxIdle = 2;

const formOf = { emails: canonicalEmail, phones: canonicalPhone };

function openOf(kind: Kind, addresses: readonly string[], users: Iterable<ServiceUser>): readonly string[] {
  const found = new Set<string>();
  for (const { email, phone } of users)
    found.add(formOf[kind](readable(kind === 'emails' ? email : phone) ?? null));
  return addresses.filter((address) => !found.has(formOf[kind](address)));
}

/**
 * @param addresses as they were asked for, at most `size` at once
 * @param ask one request; whoever it brings is in `users` afterwards
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
      const known = users.size;
      await ask(some);
      helps ||= users.size > known;
      idle += 1;
      if (!helps && idle >= maxIdle) return;
    }
    if (users.size === before) return;
  }
}
