/** The commands to decide on held edits, and to go back. Each module is loaded only when its command is called. */
import { type Adding, asOption, type WithOptions, waitOption } from '../add-commands.ts';

const onlyOption = [
  '--only <user,…>',
  'only these users, or one field of a user (17.email); the rest keeps waiting; repeatable',
] as const;

const collect = (value: string, all: readonly string[] = []) => [...all, ...value.split(',')];

/** Adds the commands that decide about held edits. Each has an option that names the person who decides. */
function addDecidingCommands<C extends WithOptions<C>>({ add }: Pick<Adding<C>, 'add'>): void {
  add(
    'approve <batch>',
    'let a batch pass, once, as far as a limit or a review holds it',
    async (context, options, [hash = '']) =>
      (await import('./approve.ts')).approveCommand(context, options, hash),
  )
    .option(...onlyOption, collect)
    .option('--reason <text>', 'reason, for the record')
    .option(...asOption);
  add(
    'reject <batch>',
    'keep a batch from being sent, whatever holds it',
    async (context, options, [hash = '']) =>
      (await import('./approve.ts')).rejectCommand(context, options, hash),
  )
    .option(...onlyOption, collect)
    .option('--revert', 'set the mirror back to what both sides last agreed on')
    .option('--reason <text>', 'reason, for the record')
    .option(...asOption);
  add(
    'withdraw [batch]',
    'take back what you edited yourself and what has not left, or what of that is in a batch',
    async (context, options, [hash]) =>
      (await import('./approve.ts')).withdrawCommand(context, options, hash),
  )
    .option('--reason <text>', 'reason, for the record')
    .option(...asOption);
  add(
    'resolve [user] [field]',
    'decide a held field; the next run carries it out',
    async (context, options, [who, field]) =>
      (await import('./resolve.ts')).resolveCommand(context, options, who, field),
  )
    .option('--batch <hash>', 'the fields of a batch of which a side has to be chosen, or that were rejected')
    .option('--take <value>', 'mirror, service, or another value; a name as "First|Last"')
    .option('--if <value>', "only if this is the mirror's value, as you have seen it")
    .option('--edit <number>', 'only if this is the edit; "musterd held" shows its number')
    .option('--if-service <value>', "and only if this is the service's value, as you have seen it")
    .option('--reason <text>', 'reason, for the record')
    .option(...asOption);
}

export function addHoldingCommands<C extends WithOptions<C>>({ add, group }: Adding<C>): void {
  group('Decide');
  addDecidingCommands<C>({ add });
  add(
    'held [user]',
    'list what waits for a person: batches, or the fields of a user',
    async (context, options, [who]) => (await import('./held.ts')).heldCommand(context, options, who),
  ).option('--all', 'each field, with all three values');
  add(
    'hold <user> [field]',
    'leave a field, or all four, alone on both sides until a given time',
    async (context, options, [who = '', field]) =>
      (await import('./hold.ts')).holdCommand(context, options, who, field),
  )
    .option('--until <time>', 'such as 2026-03-01T09:00Z, 2h or 3d')
    .option('--reason <text>', 'why')
    .option('--as <person>', 'who asks (or MUSTERD_ACTOR)')
    .option('--end', 'end it now')
    .option(...waitOption);
}

/** Adds the commands with which a person goes back after something went wrong. */
export function addReturningCommands<C extends WithOptions<C>>({ add, group }: Adding<C>): void {
  group('Go back');
  add(
    'undo <run>',
    'reverse what a run moved, where nothing has changed since',
    async (context, options, [run = '']) => (await import('./undo.ts')).undoCommand(context, options, run),
  )
    .option('--apply', 'write it into the mirror; the next run sends it')
    .option('--exit-code', 'exit 2 if there is something to undo')
    .option('--reason <text>', 'reason for the record; lets these fields pass the limits on a whole run once')
    .option('--as <person>', 'for whom (or MUSTERD_ACTOR)')
    .option(...waitOption);
  add(
    'resync',
    'take every user from the service, for example after restoring a backup',
    async (context, options) => (await import('../sync/resync.ts')).resyncCommand(context, options),
  )
    .option('--adopt-service', 'trust the service; hold edits that are not there yet')
    .option('--apply', 'do it; without this it is only shown')
    .option(...waitOption);
  add(
    'adopt',
    'say that this is where the mirror is at home now, or that it is a copy',
    async (context, options) => (await import('../set-up/adopt.ts')).adoptCommand(context, options),
  )
    .option('--as-copy', 'it is meant as a copy: it reads, and sends nothing')
    .option('--also', 'this is another address of the same database')
    .option('--reason <text>', 'why, for the record')
    .option('--yes', 'do it without asking')
    .option(...asOption)
    .option(...waitOption);
}
