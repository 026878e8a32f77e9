/** Who confirms an edit of many users, and why. */
import type { Confirmation } from '../mirror/approve-edits.ts';
import type { Context } from './context.ts';

export const confirmationOf = (
  { env }: Pick<Context, 'env'>,
  options: { readonly as?: string; readonly reason?: string },
): Confirmation => ({
  actor: (options.as ?? env['MUSTERD_ACTOR'])?.trim() || undefined,
  why: options.reason?.trim() || undefined,
});
