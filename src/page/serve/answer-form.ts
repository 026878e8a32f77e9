/** Answers a form, either with the page that asks for confirmation, or with a redirect to the outcome. */
import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { MusterdError } from '../../errors.ts';
import type { Database } from '../../mirror/db/database.ts';
import { type PageFrame, type PageReader, readPageFrame } from '../read/page-reader.ts';
import { isCopy, nothingDecided } from '../render/banner.ts';
import { decidePath, mayDecide } from '../render/decide-form.ts';
import { href } from '../render/links.ts';
import { confirmation } from '../render/question.ts';
import type { PageContext, PageShown } from '../render/view.ts';
import { readReason, requireReadable } from './decision-form.ts';
import type { PageAnswer, PageQuestion } from './page-routes.ts';
import { type Deciding, subjectOf } from './subject.ts';

/** Messages that the next page shows. The address contains only the id of a message, not its text. */
export interface Notes {
  add(words: string): string;
  get(id: string | null): string | undefined;
}

const mostNotes = 200;

const known: ReadonlyMap<string, string> = new Map([
  ['gone', 'Approved. The next complete run marks them as gone, if it does not find them.'],
  ['undone', 'The values are set back in the mirror. Somebody else has to approve this before it is sent.'],
]);

export function createNotes(): Notes {
  const notes = new Map<string, string>();
  return {
    add: (words) => {
      const id = randomBytes(9).toString('base64url');
      notes.set(id, words);
      for (const old of [...notes.keys()].slice(0, -mostNotes)) notes.delete(old);
      return id;
    },
    get: (id) => known.get(id ?? '') ?? notes.get(id ?? ''),
  };
}

/** The settings of the team that a form is about. @throws MusterdError if the viewer cannot decide for this team */
function decidingOn(by: Deciding, team: string, context: PageContext): Config {
  const config = by.configs().find((one) => one.team === team);
  const refuse = (words: string): never => {
    throw new MusterdError('usage', words);
  };
  if (isCopy(context)) return refuse(nothingDecided);
  if (config === undefined || context.decide === null) return refuse('No decisions about this team here');
  return mayDecide(context) ? config : refuse(context.decide.barred ?? '');
}

const seeOther = (location: string): PageAnswer => ({
  status: 303,
  type: 'text/html',
  body: '',
  headers: { location },
});

function wayBack(form: URLSearchParams): { readonly path: string; readonly query: URLSearchParams } {
  const given = form.get('back') ?? '';
  const [path = '', search] = (/^\/(waiting|people|runs)\b[^\\]*$/.test(given) ? given : '/waiting').split(
    /\?(.*)/s,
  );
  return { path, query: new URLSearchParams(search) };
}

interface Around {
  readonly db: Database;
  readonly decider: PageReader['decider'];
  readonly notes: Notes;
  readonly contextOf: (question: PageQuestion, frame: PageFrame) => PageContext;
  readonly show: (context: PageContext, shown: PageShown) => PageAnswer;
}

/** Reads the rows, and decides in another transaction. Redirects to the outcome, or back with the reason for a refusal. */
export async function answerForm(by: Deciding, question: PageQuestion, around: Around): Promise<PageAnswer> {
  const form = question.form ?? new URLSearchParams();
  const team = form.get('team') ?? '';
  const back = wayBack(form);
  const keys = [...form.getAll('row'), ...form.getAll('withdraw')].filter((key) => /^[\w.]{1,60}$/.test(key));
  const ticks = keys.length === 0 ? {} : { ticks: keys.join(',') };
  const page = back.query.get('page');
  try {
    requireReadable(form);
    const next = await readPageFrame(
      around.db,
      team,
      async (frame) => {
        const context = around.contextOf({ ...question, path: back.path, query: back.query }, frame);
        const config = decidingOn(by, team, context);
        const subject = await subjectOf(by, { config, form, actor: context.decide?.actor }, frame.reader);
        if (subject.question === null || form.get('confirmed') !== null) return subject;
        const asked = confirmation(context, { ...subject.question, back: href(back, { ...ticks, page }) });
        return around.show({ ...context, path: decidePath }, asked);
      },
      around.decider,
    );
    if ('status' in next) return next;
    const why = next.question === null ? '' : readReason(form);
    return seeOther((await next.carryOut(why)) || href(back, { page }));
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    const why = [error.message, error.hint].filter((one) => one !== undefined).join('. ');
    return seeOther(href(back, { note: around.notes.add(`Nothing was decided. ${why}.`), page, ...ticks }));
  }
}
