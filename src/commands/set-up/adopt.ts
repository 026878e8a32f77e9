import { MusterdError } from '../../errors.ts';
import { printable } from '../../model/in-words.ts';
import { addressesInWords, placeInJson, placeInWords, type Placing } from '../../model/place.ts';
import {
  type AdoptedPlace,
  type AdoptAs,
  adoptPlace,
  foreseeAdoption,
} from '../../runs/set-up/adopt-place.ts';
import { askAtTerminal, confirmationOf } from '../confirmation.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { leaseWait } from '../lease-wait.ts';
import { printJson, printLine } from '../output.ts';
import { withMirrorOf } from '../setup.ts';

export interface AdoptOptions {
  readonly asCopy?: boolean;
  readonly also?: boolean;
  readonly reason?: string;
  readonly as?: string;
  readonly yes?: boolean;
}

/** @throws MusterdError `usage` */
function readAs({ asCopy = false, also = false }: AdoptOptions): AdoptAs {
  if (asCopy && also) throw new MusterdError('usage', 'Give either --as-copy or --also');
  if (asCopy) return 'copy';
  return also ? 'also' : 'home';
}

/** Describes what will be recorded, and what that means for the next runs. */
function sayPlan(as: AdoptAs, { known, here }: Placing): readonly string[] {
  const { at } = here.address;
  const was = known === null || known.addresses.length === 0 ? 'not on record' : addressesInWords(known);
  if (as === 'also') return [`This mirror is known at ${was}, and would be known at ${at} as well.`];
  const isAt = `On record it is at ${was}; it is at ${at} now.`;
  return as === 'copy'
    ? [isAt, 'It would be a copy: runs read the service, but send nothing, and nothing can be decided.']
    : [isAt, `It would be at home only at ${at}, and send from there. Stop musterd elsewhere first.`];
}

function printAdopted(context: Context, as: AdoptAs, { before, after, isNews }: AdoptedPlace): void {
  const line = (text: string) => printLine(context.out, printable(text));
  if (!isNews) {
    line(`Nothing would change: ${placeInWords(after)}`);
    return;
  }
  const { known } = after;
  if (known === null) return;
  if (as === 'also') line(`This mirror is known at ${addressesInWords(known)} now.`);
  else if (as === 'copy') line(`T${placeInWords(after).slice(1)}.`);
  else {
    line(`This mirror is at home at ${addressesInWords(known)} now: the next run sends what waits.`);
    if (before.verdict === 'elsewhere' && before.known !== null)
      line(`If musterd still runs at ${addressesInWords(before.known)}, stop it there.`);
  }
}

/** Shows what it will record, and what follows. Then records that the mirror's home is here, or that it is a copy. */
export async function adoptCommand(context: Context, options: AdoptOptions): Promise<ExitCode> {
  const as = readAs(options);
  const { actor, why } = confirmationOf(context, options);
  if (why === undefined)
    throw new MusterdError('usage', '--reason is missing: say why', {
      hint: "For example: musterd adopt --reason 'db-1 was replaced by db-2'",
    });
  return withMirrorOf(context, async ({ configuration: { teams }, mirror: { db } }) => {
    const { placing, isNews } = await foreseeAdoption(db, as, why);
    const stay = (code: ExitCode, words: string): ExitCode => {
      if (context.json) printJson(context, { adopted: false, place: placeInJson(placing), why: words });
      else printLine(context.err, words);
      return code;
    };
    if (isNews && options.yes !== true) {
      if (!context.json) for (const text of sayPlan(as, placing)) printLine(context.err, printable(text));
      const ask = askAtTerminal(context);
      if (ask === undefined) return stay(exitCode.usage, 'nothing is changed: add --yes to do this');
      if (!(await ask('Do this?'))) return stay(exitCode.ok, 'nothing is changed');
    }
    const adopted = await adoptPlace(db, leaseWait(context, teams[0]).lease, { as, why, actor });
    if (context.json)
      printJson(context, { adopted: adopted.isNews, place: placeInJson(adopted.after), why: null });
    else printAdopted(context, as, adopted);
    return exitCode.ok;
  });
}
