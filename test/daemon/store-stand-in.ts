import type { LoopStore } from '../../src/daemon/run-due.ts';

/** A store of the loop in which nothing is due or edited, but for what a test gives. */
export const createStore = (given: Partial<LoopStore>): LoopStore => ({
  registerGroups: () => Promise.resolve(),
  readDue: () => Promise.resolve(new Map()),
  readNextDueMs: () => Promise.resolve(null),
  readFailures: () => Promise.resolve(new Map()),
  readWork: () => Promise.resolve({ due: [], edits: undefined }),
  setNextTime: () => Promise.resolve(),
  readFreshEdits: () => Promise.resolve([]),
  noteEdits: () => Promise.resolve(),
  ...given,
});
