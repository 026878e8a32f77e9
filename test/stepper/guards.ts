// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of files.
/** Guards that only sessions side by side can show: locks of rows, which somebody else may be editing or deciding about. */
import type { Guard } from '../simulation/guards.ts';

const users = 'src/mirror/users';
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
];
