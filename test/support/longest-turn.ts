/** Ms of CPU that this thread spent without a turn of the event loop, at most, until the work was done. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  let turn: NodeJS.Immediate;
  const look = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  };
  const next = () => {
    look();
    turn = setImmediate(next);
  };
  turn = setImmediate(next);
  try {
    await work();
    look();
  } finally {
    clearImmediate(turn);
  }
  return longest;
}
