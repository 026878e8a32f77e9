import { expect, it } from 'vitest';
import { listenForStop } from '../../src/commands/stop.ts';

it('listenForStop counts two signals within 30 ms as one Ctrl-C, and ends the process at once at a later signal', () => {
  let nowMs = 1_000;
  let left = 0;
  const leaveAtOnce = () => {
    left += 1;
  };
  const reason = new Error('asked to stop');
  const stop = listenForStop({ reason, leaveAtOnce, onCrash: () => {}, monotonicMs: () => nowMs });
  const signalAt = (ms: number) => {
    nowMs = ms;
    process.listeners('SIGINT').at(-1)?.('SIGINT');
  };
  try {
    expect(stop.signal.aborted).toBe(false);
    signalAt(1_000);
    expect(stop.signal.reason).toBe(reason);
    signalAt(1_030);
    expect(left).toBe(0);
    signalAt(2_000);
    expect(left).toBe(1);
  } finally {
    stop.close();
  }
});
