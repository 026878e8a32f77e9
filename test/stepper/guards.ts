// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of files.
/**
 * Guards that only sessions side by side can show, in the form of the simulation's: a piece of a file, and what stands there
 * without it.
 */
import type { Guard } from '../simulation/guards.ts';

const [users, decisions] = ['src/mirror/users', 'migrations/repeatable/07_decisions.sql'];

export const guards: readonly Guard[] = [
  {
    name: 'pulls lock the user',
    file: `${users}/user-rows.ts`,
    find: '        for update skip locked',
    replace: '',
  },
  {
    name: 'pushes lock the user',
    file: `${users}/intents.ts`,
    find: 'offset 0 for share skip locked) u',
    replace: 'offset 0) u',
  },
  {
    name: 'pushes lock what is held',
    file: `${users}/intents.ts`,
    find: 'user_id = w.id offset 0 for share skip locked',
    replace: 'user_id = w.id offset 0',
  },
  {
    name: 'results lock the user',
    file: `${users}/apply-results.ts`,
    find: 'order by id for update skip locked',
    replace: 'order by id',
  },
  { name: 'runs lock the lease', file: 'src/mirror/team/lease.ts', find: 'for key share', replace: '' },
  {
    name: 'decisions see what is sent',
    file: 'migrations/repeatable/02_people.sql',
    find: "if current_setting('transaction_isolation') <> 'read committed' then",
    replace: 'if false then',
  },
  {
    name: 'edits at other levels last',
    file: 'migrations/repeatable/03_edits.sql',
    find: "boolean := current_setting('transaction_isolation') = 'read committed'",
    replace: 'boolean := true',
  },
  {
    name: 'batches lock what is held',
    file: decisions,
    find: 'h.batch = hash order by h.user_id, h.field for update;',
    replace: 'h.batch = hash order by h.user_id, h.field;',
  },
  {
    name: 'decisions lock what is held',
    file: decisions,
    find: 'as s (user_id bigint, field text))\n    order by h.user_id, h.field for update;',
    replace: 'as s (user_id bigint, field text));',
  },
];
