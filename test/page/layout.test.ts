import { describe, expect, it } from 'vitest';
import type { HeaderStanding, SeenTeam } from '../../src/page/read/page-reader.ts';
import type { SeenDaemon } from '../../src/model/daemons.ts';
import type { KnownPlace } from '../../src/model/place.ts';
import { html } from '../../src/page/render/html.ts';
import { layout } from '../../src/page/render/layout.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import { contextOf, now, textOf } from './page-context.ts';

const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);

describe('the header', () => {
  const shown = { title: 'Waiting', main: html`` };
  const nameIn = (page: string, place: RegExp) =>
    place
      .exec(page)?.[1]
      ?.replaceAll(/<[^>]+>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim();

  it('shows the configured name before the service’s name, so that teams with the same name differ', () => {
    const [north, south] = ['north', 'south'].map((team, at) => ({
      team,
      teamId: BigInt(41 + at),
      name: 'Harbour',
    }));
    if (north === undefined || south === undefined) throw new Error('no team');
    const context = { ...contextOf('/'), teams: [north, south], team: south };
    const page = layout(context, 'Waiting', shown, []).toString();
    expect(/<option value="south" selected>([^<]*)/.exec(page)?.[1]).toBe('south, Harbour');
    expect(page).toContain('<option value="north">north, Harbour<');
    const one = { ...context, teams: [south] };
    expect(
      nameIn(layout(one, 'Waiting', shown, []).toString(), /<span class="team">(.*?)<\/span><span/),
    ).toBe('south Harbour');
  });

  it('shows only the configured name of a team if the service’s name is the same or missing', () => {
    for (const name of ['harbour', '', null]) {
      const context = contextOf('/');
      const team = { team: 'harbour', teamId: 41n, name };
      const page = layout({ ...context, teams: [team], team }, 'Waiting', shown, []).toString();
      expect(nameIn(page, /<span class="team">(.*?)<\/span><span/)).toBe('harbour');
    }
  });

  const standing = (waiting: number, staleFor: number | null = null): HeaderStanding => ({
    waiting,
    staleSince: staleFor === null ? null : minutesAgo(staleFor),
    completeAt: null,
  });
  /** In the order of the settings. */
  const several: readonly (readonly [string, string | null, HeaderStanding])[] = [
    ['north', 'Northgate Pharmacy', standing(0)],
    ['harbour-test', 'Harbour Street Clinic', standing(2)],
    ['east', null, standing(0)],
    ['harbour', 'Harbour Street Clinic', standing(175)],
    ['south', 'Southbank Dental', standing(0, 55)],
    ['west', 'Westside', standing(3, 20)],
  ];
  const withTeams = (all: typeof several, chosen?: string): PageContext => {
    const teams = all.map(([team, name], at): SeenTeam => ({ team, teamId: BigInt(at), name }));
    return {
      ...contextOf('/'),
      teams,
      team: teams.find(({ team }) => team === chosen) ?? null,
      standings: new Map(all.map(([, , one], at) => [BigInt(at), one])),
    };
  };
  const pageOf = (context: PageContext) => layout(context, 'Waiting', shown, []).toString();
  const choicesOf = (context: PageContext) =>
    [...pageOf(context).matchAll(/<option value="([^"]*)"( selected)?>(.*?)<\/option>/g)].map(
      ([, , selected = '', words = '']) => `${words}${selected}`,
    );

  it('offers "All teams", then stale teams, then teams with waiting fields, then teams with nothing to do', () => {
    expect(choicesOf(withTeams(several))).toEqual([
      'All teams: 6',
      'west, Westside: stale since 11:40',
      'south, Southbank Dental: stale since 11:05',
      'harbour, Harbour Street Clinic: 175 things wait',
      'harbour-test, Harbour Street Clinic: 2 things wait',
      'north, Northgate Pharmacy',
      'east',
    ]);
  });

  it('preselects the team of the address, and a change of the team keeps the filters but drops the page number', () => {
    const context = {
      ...withTeams(several, 'harbour'),
      path: '/runs',
      query: new URLSearchParams('state=all&page=3&team=harbour'),
    };
    expect(choicesOf(context)[3]).toBe('harbour, Harbour Street Clinic: 175 things wait selected');
    const [, form = ''] =
      /(<form class="row form" method="get" action="\/runs".*?)<select/.exec(pageOf(context)) ?? [];
    expect([...form.matchAll(/name="(\w+)" value="(\w+)"/g)].map(([, ...pair]) => pair)).toEqual([
      ['state', 'all'],
    ]);
  });

  it('shows the number of waiting fields in a muted colour if the mirror is a copy', () => {
    const placing = { ...contextOf('/').placing, verdict: 'copy' as const };
    const copy = pageOf({ ...withTeams(several), placing, waiting: 3 });
    expect(copy).not.toContain('class="badge"');
    expect(copy).toContain('class="badge calm"');
  });

  it('shows the team’s name without a selection list if there is only one team', () => {
    const [only] = several;
    const page = pageOf(withTeams(only === undefined ? [] : [only], 'north'));
    expect(page).not.toContain('<select');
    expect(nameIn(page, /<span class="team">(.*?)<\/span><span/)).toBe('north Northgate Pharmacy');
  });
});

describe('the banner above a page', () => {
  const shown = { title: 'Runs', main: html`<p>the view</p>` };
  const bannersOf = (context: PageContext) =>
    [
      ...layout(context, 'Runs', shown, [])
        .toString()
        .matchAll(/<div class="notice banner(?: meant)?">.*?<\/div>\n/gs),
    ].map(([one]) => textOf(one));
  const daemon: SeenDaemon = {
    team: 'harbour',
    host: 'mirror-1',
    pid: 812n,
    bySystemd: true,
    startedAt: minutesAgo(30_000),
    seenAt: minutesAgo(20.2),
    endedAt: minutesAgo(20),
    how: 'asked',
  };
  const stopped = (more: Partial<SeenDaemon> = {}, context: Partial<PageContext> = {}): PageContext => {
    const last = { ...daemon, ...more };
    return {
      ...contextOf('/runs'),
      stopped: new Map([['harbour', last]]),
      standings: new Map([[41n, { waiting: 0, staleSince: null, completeAt: minutesAgo(22) }]]),
      waitingEdits: 12,
      ...context,
    };
  };

  it('shows when and how a daemon stopped, its process, the waiting edits, and the command that starts it again', () => {
    expect(bannersOf(stopped())).toEqual([
      'No daemon runs since 11:40:00, for 20 minutes. Process 812 on mirror-1 was asked to stop, and stopped. Nothing is lost: 12 edits wait here, and what changes on the service comes with the first run. What you see is of 11:38:00.Start it again$ systemctl start musterdOr do one run now$ musterd reconcile',
    ]);
  });

  it.each([
    [
      { endedAt: null, how: null },
      {},
      'No daemon runs since 11:39:48, for 20 minutes. Process 812 on mirror-1 ended without a word. Nothing',
    ],
    [{ how: 'failed' }, {}, 'Process 812 on mirror-1 gave up; its log says why. Nothing'],
    [{}, { waitingEdits: 1 }, 'Nothing is lost: 1 edit waits here, and'],
    [{}, { waitingEdits: 0 }, 'Nothing is lost: no edit waits here, and'],
    [{ bySystemd: false }, {}, 'Start it again$ musterd daemon'],
    [{}, { standings: new Map() }, 'comes with the first run.Start it again'],
  ] as const)('describes a stopped daemon by record %j and page data %j: "%s"', (more, context, words) => {
    expect(bannersOf(stopped(more, context))[0]).toContain(words);
  });

  it('names the team whose daemon stopped, if the daemon of another team still runs', () => {
    const teams = ['harbour', 'south'].map((team, at) => ({ team, teamId: BigInt(41 + at), name: null }));
    const [harbour, south] = teams;
    const both = stopped({}, { teams, team: null });
    expect(bannersOf(both)[0]).toContain('No daemon runs for harbour since 11:40:00');
    expect(bannersOf(both)[0]).toContain('$ musterd reconcile');
    expect(bannersOf({ ...both, team: harbour ?? null })[0]).toMatch(
      /^No daemon runs since .*musterd --team harbour reconcile/,
    );
    expect(bannersOf({ ...both, team: south ?? null, stopped: new Map() })).toEqual([]);
  });

  const known: KnownPlace = {
    kind: 'home',
    identifier: '1',
    database: '4',
    addresses: [{ at: 'db-1.example:5432/musterd', machine: null }],
    since: '2026-03-09T02:00:00Z',
    by: 'kim',
    why: 'staging, restored each night',
  };
  const copied = (verdict: 'elsewhere' | 'copy', edits: number): PageContext =>
    stopped(
      {},
      {
        waitingEdits: edits,
        placing: { ...contextOf('/').placing, verdict, known, until: new Date('2026-03-11T02:10:00Z') },
      },
    );

  it.each([
    [3, '3 edits made here wait and are not sent.'],
    [1, '1 edit made here waits and is not sent.'],
    [0, 'what is edited here waits and is not sent.'],
  ])('warns that %i edits of a copied database wait, but not that the daemon stopped', (edits, words) => {
    expect(bannersOf(copied('elsewhere', edits))).toEqual([
      `This is a copy. It reads, and sends nothing. This mirror was at db-1.example:5432/musterd until 02:10, and is at db-1:5432/muster now. Runs read the service and compare; ${words}It has moved for good: stop the other one first, then$ musterd adopt --reason '…'It is meant as a copy: say so, and this turns grey$ musterd adopt --as-copy --reason '…'`,
    ]);
  });

  it('names each earlier address of a copied mirror once, and notes if the current address equals it', () => {
    const copy = copied('elsewhere', 0);
    const placed = (...places: readonly string[]) => {
      const addresses = places.map((at, i) => ({ at, machine: String(i) }));
      const placing = { ...copy.placing, known: { ...known, addresses }, until: null };
      return bannersOf({ ...copy, placing })[0];
    };
    expect(placed('a:1/m', 'b:1/m', 'a:1/m', 'c:1/m')).toContain(
      'This mirror was at a:1/m, b:1/m or c:1/m, and is at db-1:5432/muster now.',
    );
    expect(placed('db-1:5432/muster')).toContain('and is another one of that name now.');
    expect(placed()).toContain('was at a place that is not on record, and is');
  });

  it('names the daemon that stopped last, and the time of the oldest data, if several teams have no daemon', () => {
    const teams = ['harbour', 'south'].map((team, at) => ({ team, teamId: BigInt(41 + at), name: null }));
    const context = stopped({}, { teams, team: null });
    const early = { ...daemon, team: 'south', pid: 7n, endedAt: minutesAgo(90), seenAt: minutesAgo(90) };
    const complete = (minutes: number) => ({ waiting: 0, staleSince: null, completeAt: minutesAgo(minutes) });
    const both = {
      ...context,
      stopped: new Map([['south', early], ...context.stopped]),
      standings: new Map([
        [41n, complete(22)],
        [42n, complete(95)],
      ]),
    };
    expect(bannersOf(both)[0]).toMatch(
      /^No daemon runs since 11:40:00, for 20 minutes\. Process 812 .*What you see is of 10:25:00\./,
    );
  });

  it('turns grey in a declared copy, and names the person who declared the copy, and the reason', () => {
    expect(bannersOf(copied('copy', 0))).toEqual([
      "This is a copy, and is meant as one. It reads, and sends nothing. Said by kim on 9 Mar: “staging, restored each night”. If it is to send: musterd adopt --reason '…'",
    ]);
    const page = layout(copied('copy', 0), 'Runs', shown, []).toString();
    expect(page).toMatch(/<div class="notice banner meant"><svg class="icon dim"/);
    expect(page).toMatch(/<title>Runs · copy · musterd<\/title>.*<span class="frame">copy<\/span>/s);
  });

  it('shows no banner for an original mirror with running daemons', () => {
    expect(bannersOf(contextOf('/runs'))).toEqual([]);
  });
});
