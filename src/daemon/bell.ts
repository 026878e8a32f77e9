import { clearTimeout, setTimeout } from 'node:timers';

/** A sleep that `ring` ends. If `ring` is called before, the next sleep ends immediately. */
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
