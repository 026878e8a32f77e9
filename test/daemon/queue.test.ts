import { describe, expect, it } from 'vitest';
import { createProcessQueue } from '../../src/daemon/queue.ts';

/** Work that goes on until it is told to end. */
function createWork() {
  const order: string[] = [];
  const under = new Map<string, () => void>();
  return {
    order,
    under,
    work: (team: string) =>
      new Promise<void>((resolve) => {
        order.push(team);
        under.set(team, () => {
          under.delete(team);
          resolve();
        });
      }),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the queue of one process', () => {
  it('works on two teams at once in the order of offers, and refuses a team that is already in the queue', async () => {
    const { work, order, under } = createWork();
    const queue = createProcessQueue(2, work);
    const accepted = await Promise.all(['a', 'b', 'c', 'd'].map((team) => queue.offer(team)));
    expect(accepted).toEqual(Array(4).fill(true));
    expect(order).toEqual(['a', 'b']);
    expect(await queue.offer('a')).toBe(false);
    expect(await queue.offer('c')).toBe(false);
    under.get('b')?.();
    await turn();
    expect(order).toEqual(['a', 'b', 'c']);
    expect(await queue.offer('b')).toBe(true);
    under.get('a')?.();
    under.get('c')?.();
    await turn();
    expect(order).toEqual(['a', 'b', 'c', 'd', 'b']);
  });

  it('when the queue closes, finishes the team in progress, and begins no waiting team', async () => {
    const { work, order, under } = createWork();
    const queue = createProcessQueue(1, work);
    await queue.offer('a');
    await queue.offer('b');
    let closed = false;
    const closing = queue.close().then(() => {
      closed = true;
    });
    await turn();
    expect(closed).toBe(false);
    expect(await queue.offer('c')).toBe(false);
    under.get('a')?.();
    await closing;
    expect(order).toEqual(['a']);
  });
});
