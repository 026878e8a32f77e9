import { insertRequest } from '../runs/write-requests.ts';
import type { Context } from './context.ts';
import { write } from './schedule-commands.ts';

/** Asks for tags. */
export const tagCreate = (
  context: Context,
  options: { readonly as?: string; readonly wait?: string | boolean },
  names: readonly string[],
) =>
  write(context, options, async () => async (tx, teamId) => {
    const ids: string[] = [];
    for (const tag of names) ids.push(await insertRequest(tx, 'mirror.tags', teamId, { tag }));
    return ids;
  });
