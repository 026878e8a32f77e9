import { explainUser } from '../runs/explain-user.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { needsService, withMirror } from './setup.ts';
import { showExplanation } from './show-explanation.ts';

/** Why a user stands as it does. Writes nothing on either side. */
export async function whyCommand(context: Context, who: string): Promise<ExitCode> {
  return withMirror(
    context,
    async (setup) => {
      const explanation = await explainUser(setup, context.signal, who);
      showExplanation(context, explanation);
      const { answer } = explanation;
      if (answer.reached) return exitCode.ok;
      return answer.error.code === 'credentials' ? exitCode.credentials : exitCode.partial;
    },
    needsService,
  );
}
