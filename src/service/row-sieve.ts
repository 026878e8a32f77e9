/**
 * One hash for each user of an answer, by which the next run drops those whose values are the same.
 *
 * It is 8 bytes of the SHA-256 of the decoded values. A changed user is overlooked if both hashes are the same by
 * chance, which is once in 2^64 (1.8e19) changes, and only until the user changes again or everybody is compared, a day
 * later at most. Packed, a user is the id and the hash in two words of 64 bits, in the order of the answer. Words are
 * as the processor has them: on one with another order of bytes, nobody is known again.
 */
import { hash } from 'node:crypto';
import type { Id } from '../model/id.ts';
import type { RowsBefore } from '../model/service-request.ts';
import type { ServiceUser } from '../model/user.ts';
import type { RowSieve } from './page.ts';
import { textOfUser } from './wire-user.ts';

export interface NewsSieve extends RowSieve {
  /** The users who have other values than before; `null` unless these are the same users, each once. */
  changed(): ReadonlySet<Id> | null;
}

function hashesOf(users: readonly ServiceUser[]): BigInt64Array {
  const words = new BigInt64Array(2 * users.length);
  const bytes = new Uint8Array(words.buffer);
  for (const [at, user] of users.entries()) {
    words[2 * at] = user.id;
    const digest = hash('sha256', textOfUser(user), 'binary');
    for (let byte = 0; byte < 8; byte += 1) bytes[16 * at + 8 + byte] = digest.charCodeAt(byte);
  }
  return words;
}

/** Finds the hash of a user, once for each. It makes an index only if the order is another one than before. */
function createFinder(packed: Buffer) {
  const words = new BigInt64Array(new Uint8Array(packed).buffer);
  const isFound = new Uint8Array(words.length / 2);
  let index: Map<Id | undefined, number> | undefined;
  let next = 0;
  let left = isFound.length;
  return {
    left: () => left,
    find: (id: Id): bigint | undefined => {
      if (words[2 * next] !== id) {
        index ??= new Map(Array.from(isFound, (_, at) => [words[2 * at], at]));
        next = index.get(id) ?? isFound.length;
      }
      const at = next;
      if (isFound[at] !== 0) return undefined;
      isFound[at] = 1;
      left -= 1;
      next += 1;
      return words[2 * at + 1];
    },
  };
}

/** @param before if absent, nothing is known, and everybody is kept */
export function createRowSieve(before?: RowsBefore): NewsSieve {
  const pieces: BigInt64Array[] = [];
  const changed = new Set<Id>();
  const finder = before === undefined || before.hashes === null ? null : createFinder(before.hashes);
  let isStrange = before === undefined;
  const isSame = (id: Id, now: bigint | undefined): boolean => {
    const then = finder?.find(id);
    isStrange ||= then === undefined;
    if (then === now) return true;
    changed.add(id);
    return false;
  };
  return {
    keep: (users) => {
      if (before !== undefined && finder === null) return users.filter(({ id }) => before.besides.has(id));
      const words = hashesOf(users);
      pieces.push(words);
      if (before === undefined) return users;
      return users.filter(({ id }, at) => !isSame(id, words[2 * at + 1]) || before.besides.has(id));
    },
    packed: () => Buffer.concat(pieces.map(({ buffer }) => new Uint8Array(buffer))),
    changed: () => (isStrange || (finder?.left() ?? 0) > 0 ? null : changed),
  };
}
