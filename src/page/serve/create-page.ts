/** Assembles the page from its views, the mirror that they read, and the settings that define who can see what. */
import type { Config } from '../../config/config.ts';
import { createRowWriter } from '../../files/write-rows.ts';
import type { Database } from '../../mirror/db/database.ts';
import { ofDatabase } from '../../mirror/team/known-place.ts';
import { type PageFrame, type PageReader, readPageFrame, readPulse } from '../read/page-reader.ts';
import { sendBlockOf } from '../../model/place.ts';
import { readAssets } from '../assets.ts';
import { decidePath } from '../render/decide-form.ts';
import { listed } from '../render/words.ts';
import { layout } from '../render/layout.ts';
import { sorryPage } from '../render/sorry.ts';
import type { Csv, PageContext, PageShown, View } from '../render/view.ts';
import { explainAsSeen } from '../../runs/look/explain-as-seen.ts';
import { policyOf } from '../../runs/sync/reconcile-team.ts';
import type { PageAnswer, PageQuestion, PageSource } from './page-routes.ts';
import { answerForm, createNotes, type Notes } from './answer-form.ts';
import type { Deciding } from './subject.ts';
import { pageViews } from './page-views.ts';

export interface PageOptions {
  readonly db: Database;
  readonly configs: () => readonly Config[];
  readonly version: string;
  /** The parts of the daemon that decisions on the page need; `null` if the page is read-only. */
  readonly decide: Pick<Deciding, 'mirror' | 'log'> | null;
}

interface StartedPage extends PageOptions {
  /** The settings at the start. They are not read again, because people and tokens can change only by a restart. */
  readonly status: Config['status'];
  readonly notes: Notes;
}

const htmlType = 'text/html; charset=utf-8';

const asCsv = ({ head, rows }: Csv): string => {
  const writer = createRowWriter('csv', head);
  const named = rows.map((row) => Object.fromEntries(head.map((column, i) => [column, row[i]])));
  return writer.begin + writer.rows(named) + writer.end();
};

function contextOf(
  { configs, version, decide, status, notes }: StartedPage,
  question: PageQuestion,
  { seen, reader, ...frame }: PageFrame,
): PageContext {
  const byTeam = new Map(configs().map((config) => [config.team, config]));
  const { path, params, query, isCsv, actor, token } = question;
  const deciders = Object.entries(status.people).flatMap(([name, { may }]) =>
    may === 'decide' ? [name] : [],
  );
  const barred = question.mayDecide
    ? null
    : `You may look, and ${listed(deciders)} may decide (status.people).`;
  const isAsked = params['team'] !== undefined || query.get('team') !== null;
  const [only] = reader.teams;
  // Teams are shown in the order of the settings. A mirror can have teams that the settings lack.
  const order = [...byTeam.keys()];
  const placeOf = (team: string) => (byTeam.has(team) ? order.indexOf(team) : order.length);
  // A page without a daemon may use another address than the daemon does, so only the database itself is compared.
  const placing = decide === null ? ofDatabase(frame.placing) : frame.placing;
  const mayDecide = decide !== null && sendBlockOf(placing) === undefined;
  return {
    ...frame,
    path,
    params,
    query,
    teams: seen.toSorted((a, b) => placeOf(a.team) - placeOf(b.team)),
    team: (isAsked || seen.length === 1 ? only : null) ?? null,
    details: status.details,
    isCsv,
    note: notes.get(query.get('note')),
    explain: (team, { state, held }) => {
      const config = byTeam.get(team);
      return config === undefined
        ? null
        : explainAsSeen(state, held, { ...config, policy: policyOf(config) });
    },
    decide: mayDecide && deciders.length > 0 && actor !== null ? { actor, token, barred } : null,
    placing,
    // The daemon that answers this request is running, even if it has not reported that yet.
    stopped: new Map([...frame.stopped].filter(([team]) => decide === null || !byTeam.has(team))),
    version,
    perMinute: (team) => {
      const rate = byTeam.get(team)?.rate;
      return rate === undefined ? null : Math.floor(rate.perMinute * rate.share);
    },
  };
}

/** The approver, and the teams in which another person has to approve the approver's own edits. */
function deciderOf(
  { configs, decide }: StartedPage,
  { actor, mayDecide }: PageQuestion,
): PageReader['decider'] {
  if (decide === null || actor === null || !mayDecide) return null;
  const fourEyes = configs().filter(({ push }) => push.fourEyes);
  return { actor, fourEyes: new Set(fourEyes.map(({ team }) => team)) };
}

export function createPage(given: PageOptions): PageSource {
  const { db, configs } = given;
  const links = given.decide !== null ? ['freshness', 'metrics'] : [];
  const byPath = new Map(pageViews.map((one) => [one.path, one]));
  const [first] = configs();
  if (first === undefined) throw new Error('there is no team');
  const { people, details } = first.status;
  const options = { ...given, status: first.status, notes: createNotes() };
  const sorry = (status: number) => sorryPage(status).toString();
  const notFound: PageAnswer = { status: 404, type: htmlType, body: sorry(404) };

  const page = (context: PageContext, tab: View['tab'], shown: PageShown): PageAnswer => ({
    status: 200,
    type: htmlType,
    body: layout(context, tab, shown, links).toString(),
  });
  const show = async (view: View, question: PageQuestion): Promise<PageAnswer> => {
    const team = question.params['team'] ?? question.query.get('team');
    const answer = async (frame: PageFrame): Promise<PageAnswer> => {
      if (team !== null && frame.reader.teams.length === 0) return notFound;
      const read = await view.read(frame.reader, { ...question, details });
      if (read === null || (question.isCsv && view.csv === undefined)) return notFound;
      const context = contextOf(options, question, frame);
      if (question.isCsv && view.csv !== undefined) {
        const name = question.path.slice(1).replaceAll('/', '-') || 'glance';
        return {
          status: 200,
          type: 'text/csv; charset=utf-8',
          body: asCsv(view.csv(read, context)),
          headers: { 'content-disposition': `attachment; filename="${encodeURIComponent(name)}.csv"` },
        };
      }
      return page(context, view.tab, view.render(read, context));
    };
    return await readPageFrame(db, team, answer, deciderOf(options, question));
  };

  return {
    keys: people,
    patterns: pageViews.map(({ path }) => path),
    forms: options.decide === null ? [] : [decidePath],
    assets: readAssets(),
    answer: async (question) => {
      const view = byPath.get(question.pattern);
      return view === undefined ? notFound : await show(view, question);
    },
    decide: async (question) =>
      given.decide === null
        ? notFound
        : await answerForm({ ...given.decide, configs }, question, {
            db,
            decider: deciderOf(options, question),
            notes: options.notes,
            contextOf: (asked, frame) => contextOf(options, asked, frame),
            show: (context, shown) => page(context, 'Waiting', shown),
          }),
    sorry,
    pulse: () => readPulse(db),
  };
}
