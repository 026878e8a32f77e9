import { clearTimeout, setTimeout } from 'node:timers';

/** A sleep that another caller can end, even before it begins. */
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
