/** Decisions on the page: confirmed once, then carried out by the code of the commands, in the name of who logged in. */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { PageFrame } from '../mirror/page-reader.ts';
import { readWaitingBatch } from '../mirror/page-waiting-view.ts';
import { isCopy } from '../page/banner.ts';
import { batchQuestion, confirmation, refusedPage, takeQuestion } from '../page/decide.ts';
import { fieldName } from '../page/hold-words.ts';
import type { PageContext, PageShown } from '../page/view.ts';
import { approve, reject } from '../runs/approve-batch.ts';
import { readField } from '../runs/named-user.ts';
import { readValue } from '../runs/read-take.ts';
import type { Mirror } from '../runs/open.ts';
import { resolve } from '../runs/resolve-field.ts';
import type { PageQuestion } from '../status/page-routes.ts';

/** By the path that they are posted to. */
export const decisionPatterns = ['/waiting/:batch', '/waiting/:team/:id/:field'] as const;

export interface DecideOptions {
  readonly mirror: Mirror;
  readonly log: Log;
  readonly configs: () => readonly Config[];
}

interface Posted {
  readonly question: PageQuestion;
  readonly form: URLSearchParams;
  readonly config: Config;
}

/** How long a page waits for the lease, shorter than a command; then the person is asked to try again. */
const waitMs = 3_000;

const setupOf = ({ mirror, log }: DecideOptions, { config }: Posted) => ({
  setup: { config, log, mirror },
  leased: { team: config.team, lease: { ...config.lease, waitMs } },
});

const readChosen = (form: URLSearchParams): readonly bigint[] | null =>
  form.get('ticks') === null
    ? null
    : form
        .getAll('only')
        .filter((one) => /^\d{1,19}$/.test(one))
        .map(BigInt);

async function decideBatch(options: DecideOptions, posted: Posted, actor: string): Promise<void> {
  const { form, question } = posted;
  const { setup, leased } = setupOf(options, posted);
  const choice = {
    batch: question.params['batch'] ?? '',
    only: readChosen(form),
    why: form.get('why') ?? '',
    actor,
  };
  if (form.get('verb') === 'Reject') await reject(setup, leased, { ...choice, revert: false });
  else if (form.get('verb') === 'Approve') await approve(setup, leased, choice);
  else throw new MusterdError('usage', 'Neither approved nor rejected');
}

async function decideField(options: DecideOptions, posted: Posted, actor: string): Promise<void> {
  const { form, question } = posted;
  const { setup, leased } = setupOf(options, posted);
  const { id = '', field = '' } = question.params;
  const take = form.get('take');
  const isSide = take === 'mirror' || take === 'service';
  if (!isSide && take !== 'value') throw new MusterdError('usage', 'Which value is to be taken?');
  const named = readField(field);
  const chosen = isSide ? take : { value: readValue(named, form.get('value') ?? '') };
  await resolve(setup, leased, id, { field: named, take: chosen, why: form.get('why') ?? '', actor });
}

async function askAboutBatch(posted: Posted, frame: PageFrame, context: PageContext): Promise<PageShown> {
  const { form, question } = posted;
  const waiting = await readWaitingBatch(frame.reader, question);
  const [batch] = waiting?.batches ?? [];
  const [missing] = waiting?.missing ?? [];
  const only = readChosen(form);
  if (only?.length === 0)
    return refusedPage(context, 'No row has a tick', 'Go back, and tick those that are meant.');
  const ids = new Set(only);
  const rows = waiting?.rows ?? [];
  const all = batch?.rows ?? missing?.rows ?? 0;
  const chosen = only === null ? all : rows.filter(({ userId }) => userId !== null && ids.has(userId)).length;
  if (chosen === 0) return refusedPage(context, 'None of it waits any more', undefined);
  const verb = form.get('verb') === 'Reject' ? 'Reject' : 'Approve';
  const unit = batch === undefined ? 'missing row' : 'row';
  const kept = ['team', 'ticks', 'only'].flatMap((name) =>
    form.getAll(name).map((value) => [name, value] as const),
  );
  return confirmation(context, {
    ...batchQuestion(verb, { path: question.path, all, chosen, unit }),
    values: [['verb', verb], ...kept],
    asksFor: null,
  });
}

function askAboutField({ form, question }: Posted, context: PageContext): PageShown {
  const { id = '', field = '' } = question.params;
  const asked = form.get('take');
  const take = asked === 'mirror' || asked === 'value' ? asked : 'service';
  return confirmation(context, {
    ...takeQuestion(question.path, { id, field, take }),
    values: [['take', take]],
    asksFor:
      take === 'value'
        ? `The ${fieldName(field)} that is to stand${field === 'name' ? ', as first | last' : ''}`
        : null,
  });
}

/**
 * @returns a page that asks for confirmation, or says why nothing was decided; `null`: it is decided
 */
export async function decideOnPage(
  options: DecideOptions,
  question: PageQuestion,
  frame: PageFrame,
  context: PageContext,
): Promise<PageShown | null> {
  const { form = new URLSearchParams() } = question;
  const team = question.params['team'] ?? form.get('team');
  const config = options.configs().find((one) => one.team === team);
  const { decide } = context;
  if (isCopy(context))
    return refusedPage(
      context,
      'Nothing is decided in a copy',
      'Whatever is approved here would not be sent.',
    );
  if (config === undefined || decide === null)
    return refusedPage(
      context,
      'Nothing can be decided here',
      'The daemon of this page does not serve that team.',
    );
  const posted = { question, form, config };
  const isBatch = question.pattern === decisionPatterns[0];
  if (form.get('confirmed') === null)
    return isBatch ? await askAboutBatch(posted, frame, context) : askAboutField(posted, context);
  if ((form.get('why') ?? '').trim() === '') return refusedPage(context, 'A reason is missing', undefined);
  try {
    await (isBatch ? decideBatch : decideField)(options, posted, decide.actor);
    return null;
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    return refusedPage(context, error.message, error.hint);
  }
}
