import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { eventually } from './eventually.ts';

/** Holds a request, before it has its effect or after, until it is let go. @param nth which of this path */
export function holdRequest(
  emulator: Pick<Emulator, 'before' | 'after'>,
  path: string,
  { when = 'before', nth = 1 }: { readonly when?: 'before' | 'after'; readonly nth?: number } = {},
) {
  let seen = 0;
  const gate = Promise.withResolvers<void>();
  const unhook = emulator[when]({ path, times: 'always' }, async () => {
    seen += 1;
    if (seen === nth) await gate.promise;
  });
  return {
    /** Waits until it is there. */
    reached: async () => {
      await eventually(`${path} is asked for`, () => seen >= nth);
    },
    letGo: () => {
      unhook();
      gate.resolve();
    },
  };
}
