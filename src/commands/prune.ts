import type { Config } from '../config/config.ts';
import { plural } from '../model/in-words.ts';
import { prunable, type Pruned } from '../model/ages.ts';
import { requireSchema } from '../runs/open.ts';
import { pruneTeam } from '../runs/prune-team.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { eachTeam } from './each-team.ts';
import { printJson, printLine } from './output.ts';
import { createProgress } from './progress.ts';
import { withMirrorOf } from './setup.ts';

/** Removes the rows of each team that are older than the retention in the settings, or says how many these are. */
export async function pruneCommand(
  context: Context,
  { dryRun: isDry = false }: { readonly dryRun?: boolean },
): Promise<ExitCode> {
  return withMirrorOf(context, async ({ configuration: { teams }, mirror }) => {
    await requireSchema(mirror.db);
    const work = async (config: Config) => {
      const progress = createProgress(context);
      return pruneTeam(mirror.db, config, {
        isDry,
        goesOn: (step, pruned) => {
          context.signal.throwIfAborted();
          progress.onEvent({ kind: 'progress', step, done: pruned[step], total: null });
          return Promise.resolve(true);
        },
      }).finally(progress.close);
    };
    const inJson = (removed: Pruned) => ({ dry_run: isDry, removed });
    const print = (removed: Pruned) =>
      printLine(
        context.out,
        `${isDry ? 'To be removed' : 'Removed'}: ${prunable.map((part) => plural(removed[part], part.slice(0, -1))).join(', ')}`,
      );
    const [config, ...others] = teams;
    if (others.length > 0)
      return eachTeam(context, teams, { work, print, inJson, codeOf: () => exitCode.ok });
    const removed = await work(config);
    if (context.json) printJson(context, inJson(removed));
    else print(removed);
    return exitCode.ok;
  });
}
