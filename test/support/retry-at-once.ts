import { onTestFinished, vi } from 'vitest';

/** What this test has tried again is tried again at once. How long a call waits is in `test/service/retry.test.ts`. */
export function retryAtOnce(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
}
