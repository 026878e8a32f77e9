import { beforeEach, describe, expect, it } from 'vitest';
import { createEditedTeams, type EditedTeams } from '../../src/daemon/edited-teams.ts';
import type { FreshEdits } from '../../src/model/run-group.ts';

describe('the search for edited teams', () => {
  const teams = new Map(['a', 'b'].map((name) => [name, {}]));
  let now = 0;
  let asked: (readonly string[])[] = [];
  let offered: string[] = [];
  let isFree = true;
  let onOffer = () => {};
  let onAsked = () => {};
  let fresh: Partial<FreshEdits> = {};
  let edited: EditedTeams;
  beforeEach(async () => {
    now = 100_000;
    isFree = true;
    onOffer = () => {};
    onAsked = () => {};
    fresh = { isFresh: false };
    edited = createEditedTeams({
      teams: () => teams,
      store: {
        readFreshEdits: (names) => {
          asked.push(names);
          onAsked();
          const one = {
            isFresh: true,
            mark: '1:1:',
            isMarked: true,
            triedForMs: null,
            failures: 0,
            ...fresh,
          };
          return Promise.resolve(names.map((team) => ({ team, ...one })));
        },
      },
      offer: (name) => {
        offered.push(name);
        onOffer();
        return Promise.resolve(isFree);
      },
      monotonicMs: () => now,
    });
    await edited.look();
    [asked, offered] = [[], []];
  });
  const pass = async (ms: number) => {
    now += ms;
    return await edited.look();
  };
  /** An edit, and the 50 ms after it. */
  const edit = async (team = 'a') => {
    edited.note(team);
    return await pass(50);
  };

  it('offers an edited team to the queue 50 ms after the first edit, without a query of the database', async () => {
    edited.note('a');
    expect(await pass(30)).toBe(20);
    edited.note('a');
    expect(await pass(19)).toBe(1);
    expect(offered).toEqual([]);
    await pass(1);
    expect([offered, asked]).toEqual([['a'], []]);
  });

  it('offers an edited team again if the queue refuses the team and its earlier run ends during the offer', async () => {
    isFree = false;
    fresh = { isFresh: true };
    onOffer = () => edited.done('a', true);
    expect(await edit()).toBe(0);
    isFree = true;
    await pass(0);
    expect(offered).toEqual(['a', 'a']);
  });

  it('neither queries nor offers an edited team while this process works on it', async () => {
    await edit();
    edited.begun('a');
    [asked, offered] = [[], []];
    edited.note('a');
    expect(await pass(20_000)).toBe(9_950);
    expect([offered, asked]).toEqual([[], []]);
    edited.done('a', true);
    await pass(0);
    expect(offered).toEqual(['a']);
  });

  it('queries an edited team as soon as a run of the team ends without handling its edits', async () => {
    await edit();
    edited.begun('a');
    [asked, offered] = [[], []];
    await pass(5_000);
    expect(asked).toEqual([]);
    edited.done('a', false);
    await pass(0);
    expect(asked).toEqual([['a']]);
  });

  it('offers a team only after the wait for its edits, even if a run of the team ends earlier', async () => {
    fresh = { isFresh: true, triedForMs: 100 };
    await edit();
    expect(await edit()).toBe(400);
    edited.done('a', true);
    expect(await pass(0)).toBe(400);
    fresh = { isFresh: true, triedForMs: 500 };
    await pass(400);
    expect(offered).toEqual(['a', 'a']);
  });

  it('queries a team that is edited just after a push, and offers the team 500 ms after the push', async () => {
    await edit();
    edited.done('a', true);
    fresh = { isFresh: true, triedForMs: 300 };
    expect(await edit()).toBe(200);
    expect([offered, asked]).toEqual([['a'], [['a']]]);
    fresh = { isFresh: true, triedForMs: 500 };
    await pass(200);
    expect(offered).toEqual(['a', 'a']);
    edited.done('a', true);
    edited.note('a');
    await pass(1_000);
    expect([offered.length, asked.length]).toEqual([3, 2]);
  });

  it('queries again 50 ms later if an edit comes during a query, even if older edits must wait', async () => {
    await edit();
    edited.done('a', true);
    fresh = { isFresh: true, triedForMs: 300, failures: 6 };
    onAsked = () => edited.note('a');
    expect(await edit()).toBe(50);
    onAsked = () => {};
    await pass(50);
    expect(asked).toEqual([['a'], ['a']]);
  });

  it('queries a team as soon as its run ends if a person edited the team during the run', async () => {
    isFree = false;
    await edit();
    isFree = true;
    edited.done('a', true);
    await pass(0);
    expect(asked).toEqual([['a']]);
    fresh = { isFresh: true, triedForMs: 600 };
    await edit();
    edited.note('a');
    edited.done('a', true);
    await pass(0);
    expect(asked).toEqual([['a'], ['a'], ['a']]);
  });

  it('queries all teams after an edit whose team is unknown, and again after 30 s', async () => {
    fresh = { isFresh: true };
    edited.noteAny();
    await pass(0);
    expect([offered, asked]).toEqual([['a', 'b'], [['a', 'b']]]);
    edited.done('a', true);
    edited.done('b', true);
    await pass(29_999);
    expect(asked).toHaveLength(1);
    await pass(1);
    expect(asked).toHaveLength(2);
  });

  it('waits so long after a slow query that queries take at most a sixtieth of the time', async () => {
    onAsked = () => {
      now += 10_000;
    };
    await pass(30_000);
    onAsked = () => {};
    await pass(20_000);
    expect(asked).toHaveLength(2);
    await pass(599_999);
    expect(asked).toHaveLength(2);
    await pass(1);
    expect(asked).toHaveLength(3);
  });
});
