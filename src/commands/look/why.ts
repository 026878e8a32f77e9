import { printable } from '../../model/in-words.ts';
import { adviceOn, placeInWords, sendBlockOf } from '../../model/place.ts';
import { loginAdds } from '../../runs/four-eyes.ts';
import { explainUser } from '../../runs/look/explain-user.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printLine } from '../output.ts';
import { needsServiceAlone, withMirror } from '../setup.ts';
import { showExplanation } from './show-explanation.ts';

/** Explains the state of a user, and writes nothing on either side. */
export async function whyCommand(context: Context, userText: string): Promise<ExitCode> {
  return withMirror(
    context,
    async (setup) => {
      const explanation = await explainUser(setup, context.signal, userText);
      showExplanation(context, explanation, await loginAdds(setup.mirror.db, context.env));
      const { answer, placing } = explanation;
      if (sendBlockOf(placing) !== undefined)
        printLine(context.err, printable(`Note: ${placeInWords(placing)}. ${adviceOn(placing)}`));
      if (answer.reached || answer.error.code === 'denied') return exitCode.ok;
      return answer.error.code === 'credentials' ? exitCode.credentials : exitCode.partial;
    },
    needsServiceAlone,
  );
}
