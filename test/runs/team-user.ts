import type { TeamUser } from '../../src/runs/files/import/match-user.ts';

interface Given {
  readonly id: bigint;
  readonly first: string;
  readonly last: string;
  readonly email: string | null;
  readonly phone: string | null;
}

/** A user of the mirror whom the service has as well. */
export const teamUser = ({ id, first, last, email, phone }: Given): TeamUser => ({
  id,
  mirror: {
    name: { first, last },
    split: 'known',
    email,
    phone,
    roleId: 2n,
    joined: `${first} ${last}`,
    role: 'Agent',
    resolved: true,
    gone: false,
  },
  base: undefined,
});
