import type { Id } from '../../model/id.ts';
import { plural, printable } from '../../model/in-words.ts';
import { createTag, findTags, readTagName } from '../../runs/call/create-tag.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { confirmSend, type SendingOptions, showOutcome, withCaller } from './direct-send.ts';
import { leaseWait } from '../lease-wait.ts';
import { printJson, printLine } from '../output.ts';

/** Reports that nothing was sent, because the service already has the tag. */
function showThere(context: Context, name: string, ids: readonly Id[]): ExitCode {
  if (context.json) printJson(context, { outcome: 'exists', id: ids[0], request_id: null, sent: null });
  else
    printLine(context.out, printable(`Nothing was sent: tag ${name} exists already: id ${ids.join(', ')}`));
  return exitCode.ok;
}

/** Creates a tag, unless the service has a tag of that name. */
export const tagCreate = (context: Context, options: SendingOptions, text: string): Promise<ExitCode> =>
  withCaller(context, options, async (caller) => {
    const name = readTagName(text);
    const sent = { tag: name };
    const there = await findTags(caller.service, name);
    if (there.length > 0) return showThere(context, name, there);
    if (!(await confirmSend(context, options, { operation: 'POST /v1/tag', body: sent }))) return exitCode.ok;
    const created = await createTag(caller, name, leaseWait(context, caller.config).lease);
    if (created.isThere) return showThere(context, name, created.ids);
    const { ids, answer, unseen } = created;
    if (unseen !== null)
      printLine(context.err, printable(`Warning: the tags could not be read afterwards: ${unseen}`));
    if (ids.length > 1)
      printLine(
        context.err,
        `Warning: the service has ${plural(ids.length, 'tag')} of this name: ${ids.join(', ')}`,
      );
    const id = ids.find((found) => found === answer?.id) ?? ids[0] ?? answer?.id;
    return showOutcome(context, created, { sent, id, words: `Created tag ${name}` });
  });
