import type { Id } from '../model/id.ts';

/** A set of possibly millions of ids: about twenty bytes each, where a `Set` takes more than sixty. */
interface IdSet {
  readonly size: number;
  has(id: Id): boolean;
  /** @returns whether it is new */
  add(id: Id): boolean;
}

const firstPlaces = 1024;
/** No id is 0, so 0 marks a free slot. */
const none = 0n;

/** Spreads consecutive ids, which are common. */
function placeOf(id: Id, places: number): number {
  const low = Number(BigInt.asUintN(32, id));
  const high = Number(BigInt.asUintN(32, id >> 32n));
  return (Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1) >>> 7) & (places - 1);
}

/** The slot of the id, or the free slot for it. */
function findPlace(ids: BigInt64Array, id: Id): number {
  let at = placeOf(id, ids.length);
  while (ids[at] !== none && ids[at] !== id) at = (at + 1) & (ids.length - 1);
  return at;
}

export function createIdSet(): IdSet {
  let ids = new BigInt64Array(firstPlaces);
  let size = 0;
  const grow = () => {
    const before = ids;
    ids = new BigInt64Array(2 * before.length);
    for (const id of before) if (id !== none) ids[findPlace(ids, id)] = id;
  };
  return {
    get size() {
      return size;
    },
    has: (id) => ids[findPlace(ids, id)] === id,
    add: (id) => {
      const at = findPlace(ids, id);
      if (ids[at] === id) return false;
      ids[at] = id;
      size += 1;
      if (2 * size > ids.length) grow();
      return true;
    },
  };
}
