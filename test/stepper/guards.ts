// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of files.
/**
 * Guards that only sessions side by side can show: locks of rows, which somebody else may be editing or deciding about. Where
 * the stepper comes to that moment too seldom, a test leads two sessions there.
 */
import type { Guard } from '../simulation/guards.ts';

const users = 'src/mirror/users';
const byTest = (file: string, by: string): Guard['watch'] => ({
  tier: 'test',
  file: `test/mirror/${file}.test.ts`,
  by,
});
const byStepper = (seeds: number, by: string): Guard['watch'] => ({ tier: 'stepper', seeds, by });

export const sessionGuards: readonly Guard[] = [
  {
    name: 'pulls lock the user',
    file: `${users}/user-rows.ts`,
    find: '        for update skip locked',
    replace: '',
    watch: byStepper(3, 'no edit is lost'),
  },
  {
    name: 'pushes lock the user',
    file: `${users}/intents.ts`,
    find: 'offset 0 for share skip locked) u',
    replace: 'offset 0) u',
    watch: byStepper(12, 'an edit that is over is not sent'),
  },
  {
    name: 'pushes lock what is held',
    file: `${users}/intents.ts`,
    find: 'user_id = w.id offset 0 for share skip locked',
    replace: 'user_id = w.id offset 0',
    watch: byTest('intents', 'is left out, and its user is named, where an open transaction %s them'),
  },
  {
    name: 'results lock the user',
    file: `${users}/apply-results.ts`,
    find: 'order by id for update skip locked',
    replace: 'order by id',
    watch: byTest(
      'intents',
      'is one that an editor holds: its push stays open, and others are not kept waiting',
    ),
  },
  {
    name: 'edits at other levels last',
    file: 'migrations/repeatable/03_edits.sql',
    find: "boolean := current_setting('transaction_isolation') = 'read committed'",
    replace: 'boolean := true',
    watch: byTest(
      'lasting-edits',
      'that is taken back by a transaction (%s) that was there before the push has its authors if that is %s',
    ),
  },
];
