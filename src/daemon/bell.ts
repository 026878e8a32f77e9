import { clearTimeout, setTimeout } from 'node:timers';

/** A sleep that `ring` ends early. If `ring` is called between two sleeps, the next sleep ends at once. */
export function createBell() {
  let rung = false;
  let ring: () => void = () => {};
  return {
    ring: () => {
      rung = true;
      ring();
    },
    sleep: async (ms: number) => {
      if (!rung) {
        const bell = Promise.withResolvers<void>();
        ring = bell.resolve;
        const timer = setTimeout(bell.resolve, ms);
        await bell.promise;
        clearTimeout(timer);
      }
      rung = false;
    },
  };
}
