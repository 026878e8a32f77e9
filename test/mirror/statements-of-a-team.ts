/** What people and runs say in SQL about the team 41 of `fill` in neighbours.test.ts, for tests of what another team has to do with it. */

/** The settings of a session are those of a person, until a statement says otherwise. The rows of the last one count, too. */
export const statementsOfATeam: Readonly<Record<string, readonly string[]>> = {
  'edits each field': [
    `update mirror.users set first_name = 'A', last_name = 'B', email = 'a@example.com', phone = '15550111', role_id = 5
     where team_id = 41 and id = 5`,
  ],
  'edits one half of a name': [`update mirror.users set first_name = 'A' where team_id = 41 and id = 2`],
  'edits one half after the other': [
    `update mirror.users set first_name = 'A' where team_id = 41 and id = 2`,
    `update mirror.users set last_name = 'B' where team_id = 41 and id = 2`,
  ],
  'writes a name that is there': [
    'update mirror.users set first_name = first_name, last_name = last_name where team_id = 41 and id = 2',
  ],
  'edits a field again': [`update mirror.users set phone = '15550199' where team_id = 41 and id = 1`],
  'takes an edit back': [`update mirror.users set email = 'own1@example.com' where team_id = 41 and id = 1`],
  'takes an edit back that was not sent': [
    `update mirror.users set email = 'a@example.com', role_id = 5 where team_id = 41 and id = 6`,
    `update mirror.users set email = null, role_id = null where team_id = 41 and id = 6`,
  ],
  'empties an email': ['update mirror.users set email = null where team_id = 41 and id = 2'],
  'empties a role': ['update mirror.users set role_id = null where team_id = 41 and id = 2'],
  'agrees on an edit': [
    `set local musterd.writing = 'on'`,
    `update sync.user_base set phone = '15550105' where team_id = 41 and id = 5`,
  ],
  'agrees on another value': [
    `set local musterd.writing = 'on'`,
    `update sync.user_base set phone = '15550106' where team_id = 41 and id = 5`,
  ],
  'agrees on a role that was edited': [
    'update mirror.users set role_id = 4 where team_id = 41 and id = 2',
    'update mirror.users set role_id = 5 where team_id = 41 and id = 2',
    `set local musterd.writing = 'on'`,
    'update sync.user_base set role_id = 5 where team_id = 41 and id = 2',
  ],
  'agrees on a role for the second time': [
    `set local musterd.writing = 'on'`,
    `set local musterd.run = '1'`,
    'update mirror.users set role_id = 3 where team_id = 41 and id = 2',
    'set local musterd.writing = off',
    'update mirror.users set role_id = 4 where team_id = 41 and id = 2',
    `set local musterd.writing = 'on'`,
    'update sync.user_base set role_id = 4 where team_id = 41 and id = 2',
  ],
  'finds an edit': [`select sync.find_edit(41, 1, 'email') as edit_id`],
  'finds no edit': [`select sync.find_edit(41, 2, 'email') as edit_id`],
  'finds an edit that no trigger saw': [
    'set local session_replication_role = replica',
    `update mirror.users set phone = '15550188' where team_id = 41 and id in (1, 2)`,
    'set local session_replication_role = origin',
    `select sync.find_edit(41, id, 'phone') as edit_id from unnest('{1,2}'::bigint[]) id`,
  ],
  'forgets addresses': [`select mirror.forget_lookups(41, '{own@example.com}')`],
  'takes a user from the service': [
    `set local musterd.writing = 'on'`,
    `set local musterd.run = '1'`,
    'update mirror.users set role_id = 4 where team_id = 41 and id = 4',
  ],
  'sees a user leave': [
    `set local musterd.writing = 'on'`,
    `set local musterd.run = '1'`,
    'update mirror.users set gone_at = now() where team_id = 41 and id = 4',
    'delete from mirror.users where team_id = 41 and id = 6',
  ],
  'sees a user arrive on the first day': [
    `set local musterd.writing = 'on'`,
    `set local musterd.run = '1'`,
    `update sync.runs set outcome = 'failed' where team = 'north'`,
    `insert into mirror.users (team_id, id, name, first_name, resolved) values (41, 9, 'Own', 'Own', true)`,
  ],
  'approves a batch': [`select * from sync.approve('bb', team => 41)`],
  'approves a user of a batch': [`select * from sync.approve('bb', only_users => '{1}', team => 41)`],
  'approves a user who is not in the batch': [
    `select * from sync.approve('bb', only_users => '{2}', team => 41)`,
  ],
  'approves an edit of a batch': [
    `select * from sync.approve('bb', team => 41, only_edits => array(
       select edit_id from sync.edits where team_id = 41 and user_id = 1 and field = 'email' and ended_at is null))`,
  ],
  'approves what that one edited': [
    `update sync.teams set four_eyes = true where team_id = 41`,
    `set local musterd.actor = 'Own editor'`,
    `select * from sync.approve('bb', team => 41)`,
  ],
  'rejects a batch': [`select * from sync.reject('bb', team => 41)`],
  'rejects a batch and gives it back': [`select * from sync.reject('bb', revert => true, team => 41)`],
  'decides about what is held without a batch': [
    `select * from sync.decide_edits('reject', 41, jsonb_build_array(jsonb_build_object('user_id', 5, 'field', 'phone', 'mirror', '15550105'),
       jsonb_build_object('user_id', 4, 'field', 'role_id', 'mirror', null), jsonb_build_object('user_id', null, 'field', 'phone')), '')`,
  ],
  'resolves a conflict': [
    `select * from sync.decide_edits('resolve', 41, '[{"user_id": 5, "field": "phone", "base": "1", "mirror": "15550105", "service": "2"}]', '', waits => 'conflict')`,
  ],
  'approves rows that are missing': [`select * from sync.approve('aa', team => 41)`],
  'rejects rows that are missing': [`select * from sync.reject('aa', team => 41)`],
  'approves a row that is not missing': [`select * from sync.approve('aa', only_users => '{6}', team => 41)`],
  'approves some of the rows that are missing': [
    `insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at) values (41, 'tags', 8, now(), 'aa', 'few', now())`,
    `select * from sync.approve('aa', only_users => '{8}', team => 41)`,
  ],
  'asks what became of edits': [
    `select s.* from (select distinct xid from sync.edits where team_id = 41) x, sync.edit_states(x.xid) s`,
  ],
  'asks what became of edits that ended': [
    `update sync.edits set ended_at = now(), ended_how = 'agreed' where team_id = 41 and field = 'email'`,
    `select s.* from (select distinct xid from sync.edits where team_id = 41) x, sync.edit_states(x.xid) s`,
  ],
  'asks what became of edits while nothing is held or running': [
    'delete from sync.held_fields where team_id = 41',
    `delete from sync.leases where team = 'north'`,
    `delete from sync.learned where team = 'north' and topic = 'pace'`,
    `select s.* from (select distinct xid from sync.edits where team_id = 41) x, sync.edit_states(x.xid) s`,
  ],
};

/** A role that sees the one team alone says this. */
const asItsRole = (statement: string): readonly string[] => [
  'create role "role of one"; grant musterd_approver to "role of one"',
  'delete from mirror.team_roles',
  `insert into mirror.team_roles (role_name, team_id) values ('role of one', 41)`,
  'create function sync.told() returns setof text language sql security definer as $$ select to_jsonb(s)::text from sync.edit_states(pg_current_xact_id()) s $$',
  'set local session authorization "role of one"',
  `create temp table told as ${statement}`,
  'reset session authorization',
  'select * from told',
];

/** Statements about rows of all teams: each of them is compared with what it was itself. */
export const statementsOfAllTeams: Readonly<Record<string, readonly string[]>> = {
  'edits a user of each team': [`update mirror.users set phone = '15550177', role_id = 5 where id = 4`],
  'renames the rows of a listing in each team': [
    `set local musterd.writing = 'on'`,
    `update mirror.tags set tag = tag || ', for all' where id = 6`,
  ],
  'renames a role of each team': [
    `set local musterd.writing = 'on'`,
    `update mirror.roles set name = name || ', for all' where role_id = 3`,
  ],
  'agrees with a user of each team': [
    `set local musterd.writing = 'on'`,
    `update sync.user_base set phone = '15550105' where id = 5`,
  ],
  'asks for one team what became of edits of each': [
    `update mirror.users set phone = '15550177', last_name = 'B' where id = 4`,
    `update mirror.users set last_name = '' where id = 4`,
    ...asItsRole('select * from sync.told()'),
  ],
  'approves what is held in each team': asItsRole(`select * from sync.approve('bb')`),
  'approves rows that are missing in each team': asItsRole(`select * from sync.approve('aa')`),
  'resolves nothing of the other team': asItsRole(
    `select outcome from sync.resolve(40, 5, 'phone', 'mirror', reason => '')`,
  ),
  'holds nothing of the other team': asItsRole(`select * from sync.hold(40, 1, 'tomorrow')`),
  'takes a user of each team from the service': [
    `set local musterd.writing = 'on'`,
    `set local musterd.run = '1'`,
    `update mirror.users set phone = '15550177' where id = 4`,
  ],
};
