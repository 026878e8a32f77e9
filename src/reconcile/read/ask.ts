/** `GET /v1/users/get`: all users in one request, or some users by their addresses, in as few requests as possible. */
import { isRefusal } from '../../errors.ts';
import { canonicalPhone } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import type { UserFilter, UsersAnswer } from '../../model/service-request.ts';
import { chunks } from '../chunks.ts';
import type { ServicePort } from '../ports.ts';

/** The most addresses in one request. The size of the largest body that the service accepts is not documented. */
export const addressesPerRequest = 100;

export type Lookup = Pick<ServicePort, 'users'>;

/** The addresses to look up, in their stored spelling; `null` for an unknown address. */
export interface AddressesToAsk {
  readonly emails: readonly (string | null)[];
  readonly phones: readonly (string | null)[];
}

export const noUsers: UsersAnswer = { users: [], rejected: [], requestId: null };

/** Asks for addresses of one kind. A refused request is halved until each refused address is alone in its request. */
export async function askFor(
  service: Lookup,
  filter: UserFilter,
  onRefused: (address: UserFilter) => void,
): Promise<readonly UsersAnswer[]> {
  try {
    return [await service.users(filter)];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (filter.emails.length + filter.phones.length === 1) {
      onRefused(filter);
      return [noUsers];
    }
    const answers: UsersAnswer[] = [];
    for (const half of halve(filter)) answers.push(...(await askFor(service, half, onRefused)));
    return answers;
  }
}

function halve({ emails, phones }: UserFilter): readonly UserFilter[] {
  const size = Math.ceil((emails.length + phones.length) / 2);
  return [
    ...chunks(emails, size).map((half) => ({ emails: half, phones: [] })),
    ...chunks(phones, size).map((half) => ({ emails: [], phones: half })),
  ];
}

/** Removes duplicates: returns one of the values for each canonical form. */
function distinct(
  values: readonly (string | null)[],
  canonical: (value: string) => string,
): readonly string[] {
  const byForm = new Map(
    values.filter((value) => value !== null).map((value) => [canonical(value), value.trim()]),
  );
  byForm.delete('');
  return [...byForm.values()];
}

/** Returns a function that is true while `users` lacks a wanted user. Found users are never removed from `users`. */
export function someMissing(wanted: readonly Id[], users: ReadonlyMap<Id, unknown>): () => boolean {
  let found = 0;
  return () => {
    for (let id = wanted[found]; id !== undefined && users.has(id); id = wanted[found]) found += 1;
    return found < wanted.length;
  };
}

/** The requests that ask for each address once, emails first. */
export function filtersOf(addresses: AddressesToAsk): readonly UserFilter[] {
  // Every spelling of an email is looked up, because some deployments distinguish upper and lower case.
  const emails = distinct(addresses.emails, (email) => email.trim());
  const phones = distinct(addresses.phones, canonicalPhone).map(canonicalPhone);
  return [
    ...chunks(emails, addressesPerRequest).map((chunk) => ({ emails: chunk, phones: [] })),
    ...chunks(phones, addressesPerRequest).map((chunk) => ({ emails: [], phones: chunk })),
  ];
}

/** The addresses that the user has now, and the new addresses if the push changes them. */
interface AddressedUser {
  readonly email: string | null;
  readonly phone: string | null;
  readonly sent: { readonly email?: string | null; readonly phone?: string | null };
}

/** The number of requests that a lookup of these users makes, if each user is found by an address of its own. */
export function countLookups(users: readonly AddressedUser[]): number {
  const filters = filtersOf({
    emails: users.map(({ email }) => email),
    phones: users.map(({ phone }) => phone),
  });
  let wanted = users;
  let requests = 0;
  for (const { emails, phones } of filters) {
    if (wanted.length === 0) break;
    requests += 1;
    const found = new Set([...emails, ...phones]);
    wanted = wanted.filter(
      ({ email, phone }) => !found.has(email?.trim() ?? '') && !found.has(canonicalPhone(phone ?? '')),
    );
  }
  if (wanted.length === 0) return requests;
  const others = filtersOf({
    emails: wanted.map(({ sent }) => sent.email ?? null),
    phones: wanted.map(({ sent }) => sent.phone ?? null),
  });
  return requests + others.length + 1;
}

/** Looks users up by address, emails first, until all wanted users are found. */
export async function lookUp(
  service: Lookup,
  wanted: () => boolean,
  addresses: AddressesToAsk,
  take: (answer: UsersAnswer) => void,
  onRefused: (address: UserFilter) => void,
): Promise<void> {
  for (const filter of filtersOf(addresses)) {
    if (!wanted()) return;
    for (const answer of await askFor(service, filter, onRefused)) take(answer);
  }
}

/** Asks for all users at once; `null` if the deployment refuses this request. */
export async function readEverybody(service: ServicePort): Promise<UsersAnswer | null> {
  try {
    return await service.users({ emails: [], phones: [] });
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}
