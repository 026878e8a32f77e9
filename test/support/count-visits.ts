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
    Object.defineProperty(of, name, {
      value: make(original as (...args: readonly unknown[]) => unknown),
      configurable: true,
      writable: true,
    });
    undo.push(() => Object.defineProperty(of, name, { value: original, configurable: true, writable: true }));
  };
  const search = (name: string) =>
    replace(
      Array.prototype,
      name,
      (original) =>
        function (this: unknown[], ...args: unknown[]): unknown {
          visits += this.length;
          return original.apply(this, args);
        },
    );
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
  for (const name of ['includes', 'indexOf', 'lastIndexOf', 'concat']) search(name);
  for (const name of ['find', 'findIndex', 'findLast', 'some', 'every', 'filter']) test(name);
  for (const name of ['map', 'forEach']) test(name);
  for (const name of ['reduce', 'reduceRight', 'entries', 'slice']) search(name);
  replace(
    Set.prototype,
    Symbol.iterator,
    (original) =>
      function (this: Set<unknown>): unknown {
        visits += this.size;
        return original.call(this);
      },
  );
  replace(
    Array.prototype,
    Symbol.iterator,
    (original) =>
      function (this: unknown[]): unknown {
        visits += this.length;
        return original.call(this);
      },
  );
  try {
    await work();
  } finally {
    for (const one of undo.toReversed()) one();
  }
  return visits;
}
