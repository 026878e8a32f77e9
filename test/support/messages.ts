/** Scheduled messages in every state, made by SQL as a run would have left them. */
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';

export const keyOf = (number: number): string => `${String(number).repeat(8)}-1111-4111-8111-111111111111`;

export const evil = `<img src=x onerror=alert(1)>\u202e"'`;

const hold = (number: number, reason: string, batch: string, detail = '') => `
  insert into sync.held_fields (team_id, local_id, field, reason, base_value, mirror_value, batch, edit_id, detail)
  select m.team_id, m.local_id, 'message', '${reason}', m.base, sync.wanted('message', to_jsonb(m)), ${batch}, e.edit_id, '${detail}'
  from mirror.scheduled_messages m join sync.edits e on e.local_id = m.local_id and e.ended_at is null
  where m.local_id = '${keyOf(number)}'`;

const edit = (number: number, who: string) => `
  insert into sync.edits (xid, edited_at, team_id, local_id, field, old_value, new_value, edited_by, actor, authors)
  select pg_current_xact_id(), now(), team_id, local_id, 'message', base, sync.wanted('message', to_jsonb(m)), session_user, '${who}', array[sync.person('${who}')]
  from mirror.scheduled_messages m where local_id = '${keyOf(number)}'`;

/**
 * Of team 41: 1 is unknown, 2 by anna and 3 by kim wait for an approval, 4 is to be cancelled, 5 was refused, 6 is
 * scheduled, 7 was cancelled, and the time of 8 passed the day before yesterday.
 */
export async function fillMessages(db: Database): Promise<void> {
  const row = (number: number, values: Readonly<Record<string, string>>) => {
    const all = { team_id: '41', local_id: `'${keyOf(number)}'`, inbox_id: '7', user_id: '11', ...values };
    return `insert into mirror.scheduled_messages (${Object.keys(all).join(', ')}) values (${Object.values(all).join(', ')})`;
  };
  const number = `'15550100'`;
  const hour = (n: number) => `date_trunc('hour', now()) + interval '${n} hours'`;
  await runSqlText(
    db,
    [
      `begin; set local musterd.writing = 'on'`,
      `update sync.teams set writes = '{"schedule": true, "timezone": "Europe/Zurich"}' where team_id = 41`,
      `insert into mirror.inboxes (team_id, id, name, phones) values (41, 7, 'Recall', '["+41445550111"]')`,
      row(1, {
        text: `'The clinic closes at 16:00.'`,
        list_id: '8812',
        execute_at: hour(2),
        state: `'unknown'`,
      }),
      row(2, {
        text: `'Grüezi {{first_name}}, ${evil.replaceAll("'", "''")}'`,
        targets: `array(select '1555010' || n from generate_series(100, 313) n)`,
        execute_at: hour(27),
        state: `'held'`,
      }),
      row(3, {
        text: `'Merci de votre visite.'`,
        phone_number: number,
        execute_at: hour(54),
        state: `'held'`,
      }),
      row(4, {
        id: '904',
        text: `'Too much'`,
        phone_number: number,
        execute_at: hour(78),
        state: `'held'`,
        cancels: 'true',
        base: `'{"text": "Too much"}'`,
      }),
      row(5, { text: `'No'`, phone_number: number, execute_at: hour(80), state: `'refused'` }),
      row(6, {
        id: '906',
        text: `'مرحبا، موعدك غدا الساعة 11:00'`,
        conversation_id: '12',
        // On no day that 2 is on, be that of 25 hours.
        execute_at: hour(52),
        state: `'scheduled'`,
        base: `'{}'`,
      }),
      row(7, {
        phone_number: number,
        text: `'Nobody got it'`,
        execute_at: hour(1),
        state: `'cancelled'`,
        detail: `'it was taken back before it was sent'`,
      }),
      row(8, {
        id: '908',
        phone_number: number,
        text: `'Long ago'`,
        execute_at: hour(-48),
        state: `'past'`,
        base: `'{}'`,
      }),
      edit(1, 'front_desk'),
      `insert into sync.changes (team_id, local_id, kind, state, base, old, new, edits, outcome)
        select team_id, local_id, 'push', 'open', '{}', '{"message": null}', jsonb_build_object('message', new_value), jsonb_build_object('message', edit_id), '{"message": "unknown"}'
        from sync.edits where local_id = '${keyOf(1)}'`,
      ...[2, 4, 5].map((one) => edit(one, 'anna')),
      edit(3, 'kim'),
      hold(2, 'review', `'aaaabbbbcccc'`),
      hold(3, 'review', `'aaaabbbbcccc'`),
      hold(4, 'review', `'ddddeeeeffff'`),
      hold(5, 'refused', 'null', 'no such number'),
      'commit',
    ].join(';\n'),
  );
}
