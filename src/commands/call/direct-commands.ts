/** The commands for tags, messages and conversations. Each module is loaded only when its command is called. */
import { MusterdError } from '../../errors.ts';
import { type Action, type Adding, asOption, type WithOptions, waitOption } from '../add-commands.ts';

/** Declares a subcommand. */
type AddBelow<C> = (name: string, description: string, action: Action) => C;

interface Families<C> extends Pick<Adding<C>, 'group'> {
  readonly family: (name: string, description: string) => AddBelow<C>;
}

const collect = (value: string, all: readonly string[] = []) => [...all, value];
/** Reads an option that can be given only once. @throws MusterdError `usage` if it is given twice */
const once = (name: string) => (value: string, before?: unknown) => {
  if (before === undefined) return value;
  throw new MusterdError('usage', `--${name} is given twice`, {
    hint: `Nothing was sent. Give --${name} once.`,
  });
};
const direct = 'sent at once, nobody approves';
const yesOption = ['--yes', 'send it without a question'] as const;
const schedule = () => import('./schedule.ts');

function withFields<C extends WithOptions<C>>(command: C): C {
  return command
    .option('--inbox <inbox>', 'sent from this inbox: id or name', once('inbox'))
    .option('--user <user>', 'who sends it: id, email, phone or name', once('user'))
    .option('--text <text>', 'its text, with merge tokens such as {{Title of a contact field}}', once('text'))
    .option('--template <id>', 'the template that it is made from', once('template'))
    .option('--at <time>', '2027-01-15T09:00:00+01:00, or 2027-01-15 09:00 with --zone', once('at'))
    .option('--zone <zone>', 'the time zone of --at, such as Europe/Berlin', once('zone'))
    .option('--to <number,…>', 'to each of these numbers; repeatable', collect)
    .option('--list <id>', 'to the members of this list', once('list'))
    .option('--conversation <id>', 'to this conversation', once('conversation'))
    .option('--attachment <json>', '{"name", "type", "url"}; repeatable', collect)
    .option('--gallery <json>', '{"url", "original_url", …}; repeatable', collect)
    .option('--is-email <true|false>', 'the value of is_email', once('is-email'));
}

export function addDirectCommands<C extends WithOptions<C>>({ group, family }: Families<C>): void {
  const sending = (command: C) => command.option(...yesOption).option(...asOption);
  group('Send');
  sending(
    family('tag', `make tags: ${direct}`)(
      'create <name>',
      `create a tag, unless there is one of that name; ${direct}`,
      async (context, options, [name = '']) => (await import('./tag.ts')).tagCreate(context, options, name),
    ),
  ).option(...waitOption);
  const add = family('schedule', `schedule messages, and cancel them: ${direct}`);
  sending(
    withFields(
      add('create', `schedule a message; ${direct}`, async (context, options) =>
        (await schedule()).scheduleCreate(context, options),
      ),
    ),
  );
  sending(
    add('cancel <id>', `cancel a message; ${direct}`, async (context, options, [id = '']) =>
      (await schedule()).scheduleCancel(context, options, id),
    ),
  );
  sending(
    family('conversations', `mark conversations as read: ${direct}`)(
      'read',
      `mark a conversation as read; ${direct}`,
      async (context, options) => (await import('./conversations.ts')).conversationsRead(context, options),
    ),
  )
    .option('--inbox <inbox>', 'its inbox: id or name', once('inbox'))
    .option('--user <user>', 'who has read it: id, email, phone or name', once('user'))
    .option('--target <target,…>', 'its other side, such as a phone number; repeatable', collect)
    .option('--reassign <user>', 'assign it to this user', once('reassign'));
}
