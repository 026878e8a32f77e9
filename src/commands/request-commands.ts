/** The commands by which a person asks for tags, messages and read conversations. Each module is loaded only when it is called. */
import { type Action, type Adding, asOption, type WithOptions } from './add-commands.ts';

const collect = (value: string, all: readonly string[] = []) => [...all, value];
const collectNumbers = (value: string, all: readonly string[] = []) => [
  ...all,
  ...value.split(/[\s,;]+/).filter(Boolean),
];

const waitOption = ['--wait [seconds]', 'show what becomes of it on the service, for 10 s at most'] as const;

/** Declares a command below another one. */
type AddBelow<C> = (name: string, description: string, action: Action, isDefault?: boolean) => C;

interface Families<C> extends Pick<Adding<C>, 'add' | 'json' | 'group'> {
  readonly family: (name: string, description: string) => AddBelow<C>;
}

function withColumns<C extends WithOptions<C>>(command: C): C {
  return command
    .option('--inbox <inbox>', 'sent from this inbox: id or name')
    .option('--user <user>', 'who sends it: id, email, phone or name')
    .option('--text <text>', 'its text, with merge tokens such as {{Title of a contact field}}')
    .option('--text-file <file>', 'its text, from this file; - for stdin')
    .option('--template <id>', 'the template that it is made from')
    .option('--at <time>', '2026-12-01T09:15:00Z, or 2026-12-01 09:15 in the zone of the team')
    .option('--phone <number>', 'to this number')
    .option('--to <number,…>', 'to each of these numbers; repeatable', collectNumbers)
    .option('--list <id>', 'to the members of this list')
    .option('--conversation <id>', 'to this conversation')
    .option('--attachment <json>', '{"name", "type", "url"}; repeatable', collect)
    .option('--gallery <json>', '{"url", "original_url", …}; repeatable', collect)
    .option('--is-email <true|false>', 'sent as it is');
}

function addSchedule<C extends WithOptions<C>>({ json, family }: Families<C>): void {
  const module = () => import('./schedule-commands.ts');
  const add = family('schedule', 'schedule messages, replace and cancel them');
  const writes = (command: C) =>
    json(command)
      .option(...asOption)
      .option(...waitOption);
  writes(
    withColumns(
      add(
        'create',
        'ask for a message; a run holds it until somebody else approves it',
        async (context, options) => (await module()).scheduleCreate(context, options),
      ),
    ),
  );
  json(
    add('list', 'list the messages that are not over', async (context, options) =>
      (await module()).scheduleList(context, options),
    ),
  ).option('--all', 'those whose time has passed and cancelled ones as well');
  json(
    add(
      'show <local_id>',
      'show one, what became of it, and what happens next',
      async (context, _, [id = '']) => (await module()).showOne(context, id),
    ),
  );
  writes(
    withColumns(
      add(
        'update <local_id>',
        'change what is given of a message; an option with nothing in it clears its column',
        async (context, options, [id = '']) => (await module()).scheduleUpdate(context, options, id),
      ),
    ),
  );
  writes(
    add('cancel <local_id...>', 'cancel messages', async (context, options, ids) =>
      (await module()).scheduleCancel(context, options, ids),
    ),
  );
  json(
    add(
      'resolve <local_id>',
      'say what became of a message that was sent and not answered',
      async (context, options, [id = '']) => (await module()).scheduleResolve(context, options, id),
    ),
  )
    .option('--is <id>', 'the service has it, under this id')
    .option('--was-not-sent', 'the service does not have it; sending it again takes a new approval')
    .option('--reason <text>', 'reason, for the record')
    .option(...asOption);
}

export function addRequestCommands<C extends WithOptions<C>>(adding: Families<C>): void {
  const { add, json, group, family } = adding;
  group('Decide');
  json(
    family('tag', 'make tags')('create <name...>', 'ask for tags', async (context, options, names) =>
      (await import('./tag.ts')).tagCreate(context, options, names),
    ),
  )
    .option(...asOption)
    .option(...waitOption);
  addSchedule(adding);
  const addConversations = family('conversations', 'mark conversations as read');
  json(
    addConversations(
      'list',
      'list what was asked for; the default',
      async (context) => (await import('./conversations.ts')).conversationsList(context),
      true,
    ),
  );
  json(
    addConversations('read', 'ask for a conversation to be marked as read', async (context, options) =>
      (await import('./conversations.ts')).conversationsRead(context, options),
    ),
  )
    .option('--inbox <inbox>', 'its inbox: id or name')
    .option('--user <user>', 'who has read it: id, email, phone or name')
    .option('--target <target>', 'its other side, such as a phone number')
    .option('--targets <target,…>', 'several of them; repeatable', collectNumbers)
    .option('--reassign <user>', 'assign it to this user')
    .option(...asOption)
    .option(...waitOption);
  group('Look');
  json(
    add('inboxes', 'list the inboxes of the mirror', async (context) =>
      (await import('./listed.ts')).listedCommand(context, 'inboxes', ['id', 'name', 'phones', 'members']),
    ),
  );
  json(
    add('surveys', 'list the surveys of the mirror', async (context) =>
      (await import('./listed.ts')).listedCommand(context, 'surveys', ['id', 'name', 'type', 'question']),
    ),
  );
}
