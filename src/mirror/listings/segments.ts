import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';

/** For `with recursive`: a team's segments, with one index lookup per segment, however many counts there are. */
export const segmentsOf = (teamId: Id) => sql`
  segments as (
    (select segment from mirror.contact_counts where team_id = ${teamId} order by segment limit 1)
    union all
    select (
      select c.segment from mirror.contact_counts c
      where c.team_id = ${teamId} and c.segment > s.segment order by c.segment limit 1
    ) from segments s where s.segment is not null
  )`;
