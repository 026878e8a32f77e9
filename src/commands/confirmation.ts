/** Who confirms an edit of many users, and why. */
import type { Config } from '../config/config.ts';
import type { Confirmation } from '../mirror/approve-edits.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';

export const confirmationOf = (
  { env }: Pick<Context, 'env'>,
  options: { readonly as?: string; readonly reason?: string },
): Confirmation => ({
  actor: (options.as ?? env['MUSTERD_ACTOR'])?.trim() || undefined,
  why: options.reason?.trim() || undefined,
});

/** Says that the reason did not count: nobody approves what they edited themselves. */
export function noteFourEyes(
  { err }: Pick<Context, 'err'>,
  { push }: Pick<Config, 'push'>,
  { why }: Confirmation,
): void {
  if (push.fourEyes && why !== undefined)
    printLine(
      err,
      'not approved by that: somebody else has to agree where the limits hold it (push.fourEyes)',
    );
}
