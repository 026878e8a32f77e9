/**
 * Statements that were seen before are not parsed and planned again, which is most of what they cost. `pg` still sends each of
 * them whole; on its way it gets a name, by its text, and the server keeps its plan.
 */
import { type Message, message, messagesIn } from './wire.ts';

/** The names of the texts that the server has. */
export type Names = Map<string, string>;

/** What the server gets in place of a unit, and what is made of its answer. */
export interface Named {
  readonly unit: Buffer;
  answer(messages: readonly Message[]): readonly Message[];
}

const [parsed] = messagesIn(message('1'));

export function nameStatement(unit: Buffer, names: Names): Named {
  const [parse, bind] = messagesIn(unit);
  if (parsed === undefined || parse?.type !== 'P' || parse.body[0] !== 0 || bind?.type !== 'B')
    return { unit, answer: (messages) => messages };
  // It begins with its empty name; its text and the types of its parameters follow.
  const body = parse.body.subarray(1);
  const key = body.toString('latin1');
  const known = names.get(key);
  const name = known ?? `statement ${names.size}`;
  const portalEnd = bind.body.indexOf(0) + 1;
  const named = message('B', bind.body.subarray(0, portalEnd), name, bind.body.subarray(portalEnd + 1));
  const rest = unit.subarray(parse.whole.length + bind.whole.length);
  if (known !== undefined)
    return { unit: Buffer.concat([named, rest]), answer: (messages) => [parsed, ...messages] };
  return {
    unit: Buffer.concat([message('P', name, body), named, rest]),
    answer: (messages) => {
      if (messages.some(({ type }) => type === '1')) names.set(key, name);
      return messages;
    },
  };
}
