/** The loop over a stand-in for its store: what is due and edited is what a test says. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createLoop, type LoopOptions } from '../../src/daemon/loop.ts';
import { createProcessQueue, type TeamWork } from '../../src/daemon/queue.ts';
import type { ScheduledTeam } from '../../src/daemon/timetable.ts';
import { eventually } from '../support/eventually.ts';
import { createStore } from './store-stand-in.ts';

const teamOf = (name: string): ScheduledTeam => ({
  name,
  schedule: { users: '0 0 1 1 *', listings: '0 0 1 1 *', counts: '0 0 1 1 *' },
});

/** Nothing is due; these teams have edits that no run has seen. */
async function createStage(given: Partial<LoopOptions> = {}) {
  const edited = new Set<string>();
  const runs: string[] = [];
  const asked: string[] = [];
  let looks = 0;
  const edits = (team: string) => ({
    team,
    isFresh: edited.has(team),
    mark: 'now',
    isMarked: true,
    triedForMs: null,
    failures: 0,
  });
  const store = createStore({
    readNextDueMs: () => {
      looks += 1;
      return Promise.resolve(null);
    },
    readWork: (team) => Promise.resolve({ due: [], edits: edits(team) }),
    readFreshEdits: (teams) => {
      asked.push(...teams);
      return Promise.resolve(teams.map(edits));
    },
    noteEdits: (team) => Promise.resolve(void edited.delete(team)),
  });
  const loop = await createLoop({
    teams: [teamOf('north')],
    store,
    createQueue: (work) => Promise.resolve(createProcessQueue(2, work)),
    run: (team) => {
      runs.push(team);
      return Promise.resolve('complete');
    },
    firstRunNow: false,
    monotonicMs: () => systemClock.monotonicMs(),
    onTrouble: (error) => {
      throw error;
    },
    ...given,
  });
  onTestFinished(() => loop.close());
  return { loop, edited, runs, asked, looks: () => looks };
}

describe('the loop', () => {
  it('runs an edited team that a reload of the settings has added', async () => {
    const { loop, edited, runs, asked, looks } = await createStage();
    edited.add('north');
    loop.edited('north');
    await eventually('it has looked at everything', () => runs.length === 1);
    edited.add('south');
    const take = await loop.prepare([teamOf('north'), teamOf('south')]);
    take();
    const before = looks();
    await eventually('it has looked again', () => looks() > before);
    await eventually('the runs are over', () => asked.includes('south') === runs.includes('south'));
    expect(runs).toEqual(['north', 'south']);
  });

  it('begins no run of an edited team if its turn in the queue comes while the loop closes', async () => {
    let work: TeamWork = () => Promise.resolve();
    const createQueue: LoopOptions['createQueue'] = (given) => {
      work = given;
      return Promise.resolve({ offer: () => Promise.resolve(true), close: () => work('north') });
    };
    const { loop, edited, runs } = await createStage({ createQueue });
    edited.add('north');
    await work('north');
    edited.add('north');
    await loop.close();
    expect(runs).toEqual(['north']);
  });
});
