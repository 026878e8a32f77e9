/**
 * How many elements searches, copies and other passes through arrays and sets look at while `work` is under way: what grows with
 * the square of its input shows, on any machine and at any load.
 */
export async function countVisits(work: () => unknown): Promise<number> {
  let visits = 0;
  const undo: (() => void)[] = [];
  const replace = (
    of: object,
    name: string | symbol,
    make: (original: (...args: readonly unknown[]) => unknown) => unknown,
  ) => {
    const original: unknown = Reflect.get(of, name);
    const define = (value: unknown) =>
      Object.defineProperty(of, name, { value, configurable: true, writable: true });
    define(make(original as (...args: readonly unknown[]) => unknown));
    undo.push(() => define(original));
  };
  /** It looks at all of them. */
  const search = <Of>(of: Of & object, name: string | symbol, sizeOf: (one: Of) => number) =>
    replace(
      of,
      name,
      (original) =>
        function (this: Of, ...args: unknown[]): unknown {
          visits += sizeOf(this);
          return original.apply(this, args);
        },
    );
  /** It calls what is given to it for each that it looks at. */
  const test = (name: string) =>
    replace(
      Array.prototype,
      name,
      (original) =>
        function (this: unknown[], decide: (...args: unknown[]) => unknown, self: unknown): unknown {
          const counted = (...args: unknown[]) => {
            visits += 1;
            return decide.apply(self, args);
          };
          return original.call(this, counted);
        },
    );
  const searches = [
    'includes',
    'indexOf',
    'lastIndexOf',
    'concat',
    'reduce',
    'reduceRight',
    'entries',
    'slice',
  ];
  for (const name of [...searches, Symbol.iterator]) search(Array.prototype, name, (of) => of.length);
  search(Set.prototype, Symbol.iterator, (of) => of.size);
  for (const name of ['find', 'findIndex', 'findLast', 'some', 'every', 'filter', 'map', 'forEach'])
    test(name);
  try {
    await work();
  } finally {
    for (const one of undo.toReversed()) one();
  }
  return visits;
}
