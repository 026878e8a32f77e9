/** The parts that the forms that decide have in common. */
import type { Config } from '../../config/config.ts';
import { MusterdError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { readFourEyes } from '../../mirror/team/pinned-teams.ts';
import type { PageFrame } from '../read/page-reader.ts';
import { isCopy } from '../render/banner.ts';
import { mayDecide, refusedPage, whyBarred } from '../render/decide.ts';
import type { PageContext, PageShown, Tab } from '../render/view.ts';
import type { Mirror } from '../../runs/open.ts';
import type { PageQuestion } from './page-routes.ts';

export interface DecideOptions {
  readonly mirror: Mirror;
  readonly log: Log;
  readonly configs: () => readonly Config[];
}

export interface PostedForm {
  readonly question: PageQuestion;
  readonly form: URLSearchParams;
  readonly config: Config;
}

/**
 * Carries out a decision that was confirmed and is about what was shown.
 * @returns the address of the page that says so
 * @throws MusterdError if it is about something else after all
 */
export type CarryOut = () => Promise<string>;

/** The answers to a form of the page. */
export interface FormHandler {
  readonly tab: Tab;
  /**
   * @returns a page that asks for confirmation or says why nothing is done, or else what carries it out
   * @throws MusterdError for a form that cannot be read
   */
  readonly prepare: (
    options: DecideOptions,
    posted: PostedForm,
    frame: PageFrame,
    context: PageContext,
  ) => Promise<PageShown | CarryOut>;
  /** The page that says why it was refused after all, over what is there by now. */
  readonly refusedAfterAll: (
    posted: PostedForm,
    frame: PageFrame,
    context: PageContext,
    why: string,
  ) => Promise<PageShown>;
}

/** How long a page waits for the lease, which is less than a command does. Then it asks the person to try again. */
const waitMs = 3_000;

export const setupOf = ({ mirror, log }: DecideOptions, { config }: PostedForm) => ({
  setup: { config, log, mirror },
  leased: { team: config.team, lease: { ...config.lease, waitMs } },
});

/** The settings of the team that a form is about, or why nobody decides about it here. */
export function decidingOn(
  options: DecideOptions,
  { form, params }: Pick<PageQuestion, 'form' | 'params'>,
  context: PageContext,
): Config | PageShown {
  const team = params['team'] ?? form?.get('team');
  const config = options.configs().find((one) => one.team === team);
  if (isCopy(context))
    return refusedPage(context, {
      status: 403,
      message: 'Nothing is decided in a copy',
      hint: 'Whatever is approved here would not be sent.',
    });
  if (config === undefined || context.decide === null)
    return refusedPage(context, {
      status: 403,
      message: 'Nothing can be decided here',
      hint: 'The daemon of this page does not serve that team.',
    });
  if (!mayDecide(context, config.team))
    return refusedPage(context, {
      status: 403,
      message: context.decide.why,
      hint: undefined,
    });
  return config;
}

/**
 * Four eyes may have been required elsewhere, because a command can do so, too.
 * @throws MusterdError `usage` if the name was just typed
 */
export async function requireKnownName(
  { mirror }: DecideOptions,
  team: string,
  { isKnown }: Pick<PageQuestion, 'isKnown'>,
): Promise<void> {
  if (!isKnown && (await readFourEyes(mirror.db.kysely, team)) === true)
    throw new MusterdError('usage', whyBarred);
}

/** The address of the receipt of a decision. @throws MusterdError `usage` if nothing was decided */
export function doneAt(decision: bigint | null): string {
  if (decision !== null) return `/waiting?done=${decision}`;
  throw new MusterdError('usage', 'All of it was edited, or has moved on the service, while you looked.');
}
