import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { checkFault, parseFaults } from '../faults/faults.ts';
import type { NewUser, TeamControl } from './team-control.ts';
import { takeSnapshot } from './snapshot.ts';
import { parseVariants } from '../faults/variants.ts';
import { type EmulatorWorld, restoreWorld } from '../world.ts';

/** Options of the control endpoint. */
interface Control {
  readonly world: EmulatorWorld;
  readonly teams: readonly TeamControl[];
  /** Required as a Bearer token. If it is undefined, only requests from loopback are answered. */
  readonly token: string | undefined;
}

/** The prefix is outside `/v1`, so that it cannot collide with a path of the interface. */
const controlPrefix = '/_emulator';

const userEdit = z.strictObject({
  id: z.int().optional(),
  first: z.string().optional(),
  last: z.string().optional(),
  email: z.string().nullable().optional(),
  phone: z.string().nullable().optional(),
  roleId: z.int().optional(),
  listed: z.boolean().optional(),
  answered: z.boolean().optional(),
});
const faultList = z.array(z.union([z.string(), z.record(z.string(), z.unknown())]));
const tagEdit = z.strictObject({ tag: z.string().optional(), color: z.string().optional() });
const contactsEdit = z.strictObject({
  count: z.int().nonnegative(),
  body: z.record(z.string(), z.unknown()).optional(),
});

/** The largest body in bytes. A large team's snapshot exceeds the limit of the service's paths. */
const snapshotLimit = 256 * 2 ** 20;

interface ControlCall {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly body: unknown;
}

type ControlAct = (control: Control, call: ControlCall) => unknown;

/** The actions of the control endpoint, by method and path. `:team` is a team's id, `:id` the id of a row. */
const acts: Readonly<Record<string, ControlAct>> = {
  'GET requests': ({ world }, { query }) => {
    const since = Number(query.get('since') ?? 0);
    const path = query.get('path');
    return world.log.requests.filter(
      (request) => request.number > since && (path ?? request.path) === request.path,
    );
  },
  'DELETE requests': ({ world }) => world.log.clear(),
  'GET faults': ({ world }) => world.faults.installed(),
  'POST faults': ({ world }, { body }) => {
    const faults = faultList
      .parse(Array.isArray(body) ? body : [body])
      .flatMap((given) => (typeof given === 'string' ? parseFaults([given]) : [checkFault(given)]));
    for (const fault of faults) world.faults.add(fault);
    return faults;
  },
  'DELETE faults': ({ world }) => world.faults.clear(),
  'GET variants': ({ world }) => world.variants,
  'PATCH variants': ({ world }, { body }) => {
    const given = z.record(z.string(), z.union([z.string(), z.number()])).parse(body);
    const changed = parseVariants(Object.entries(given).map(([name, value]) => `${name}=${value}`));
    world.variants = { ...world.variants, ...changed };
    return world.variants;
  },
  'GET clock': ({ world }) => ({
    now: new Date(world.clock.now()).toISOString(),
    skewMs: world.clock.skewMs(),
  }),
  'POST clock': ({ world }, { body }) => {
    world.clock.advance(z.strictObject({ advanceMs: z.int() }).parse(body).advanceMs);
    return { skewMs: world.clock.skewMs() };
  },
  'GET teams': ({ teams }) =>
    teams.map((team) => ({ id: team.id, name: team.name(), users: team.users().length })),
  'GET teams/:team/users': (control, call) => teamOf(control, call).users(),
  'POST teams/:team/users': (control, call) =>
    teamOf(control, call).addUser(userEdit.parse(call.body) as NewUser),
  'GET teams/:team/users/:id': (control, call) => teamOf(control, call).user(rowOf(call)),
  'PATCH teams/:team/users/:id': (control, call) => {
    const { id: _id, listed, answered, ...edit } = userEdit.parse(call.body) as NewUser;
    const team = teamOf(control, call);
    if (Object.keys(edit).length > 0) team.editUser(rowOf(call), edit);
    return team.showUser(rowOf(call), {
      ...(listed === undefined ? {} : { listed }),
      ...(answered === undefined ? {} : { answered }),
    });
  },
  'DELETE teams/:team/users/:id': (control, call) => teamOf(control, call).removeUser(rowOf(call)),
  'GET teams/:team/tags': (control, call) => teamOf(control, call).tags(),
  'POST teams/:team/tags': (control, call) => {
    const { tag = '', color } = tagEdit.parse(call.body);
    return teamOf(control, call).addTag(tag, color);
  },
  'PATCH teams/:team/tags/:id': (control, call) => {
    const { tag, color } = tagEdit.parse(call.body);
    const edit = { ...(tag === undefined ? {} : { tag }), ...(color === undefined ? {} : { color }) };
    return teamOf(control, call).editTag(rowOf(call), edit);
  },
  'DELETE teams/:team/tags/:id': (control, call) => teamOf(control, call).removeTag(rowOf(call)),
  'GET teams/:team/fields': (control, call) => teamOf(control, call).fields(),
  'POST teams/:team/fields': (control, call) => teamOf(control, call).addField(titleOf(call)),
  'PATCH teams/:team/fields/:id': (control, call) =>
    teamOf(control, call).editField(rowOf(call), titleOf(call)),
  'DELETE teams/:team/fields/:id': (control, call) => teamOf(control, call).removeField(rowOf(call)),
  'GET teams/:team/surveys': (control, call) => teamOf(control, call).surveys(),
  'GET teams/:team/inboxes': (control, call) => teamOf(control, call).inboxes(),
  'GET teams/:team/schedules': (control, call) => teamOf(control, call).schedules(),
  'GET teams/:team/deliveries': (control, call) => teamOf(control, call).deliveries(),
  'GET teams/:team/conversations-read': (control, call) => teamOf(control, call).conversationsRead(),
  'POST snapshot': ({ world }) => takeSnapshot(world.teams),
  'POST restore': ({ world }, { body }) => restoreWorld(world, body),
  'PUT teams/:team/contacts': (control, call) => {
    const { count, body } = contactsEdit.parse(call.body);
    teamOf(control, call).setContacts(count, body);
  },
};

export function isControl(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  return path === controlPrefix || path.startsWith(`${controlPrefix}/`);
}

/** Adds the routes by which tests and people read and change the emulator while it runs. */
export function addControlRoutes(app: FastifyInstance, control: Control): void {
  for (const [name, act] of Object.entries(acts)) {
    const [method = 'GET', path = ''] = name.split(' ');
    app.route({
      method,
      url: `${controlPrefix}/${path}`,
      bodyLimit: snapshotLimit,
      handler: async (request, reply) => {
        if (!admits(control, request) || isFromPage(request))
          return reply.code(403).send({ error: 'The control endpoint is not yours.' });
        try {
          const result = act(control, callOf(request));
          return await reply.type('application/json; charset=utf-8').send(JSON.stringify(result ?? 'ok'));
        } catch (error) {
          return await reply
            .code(400)
            .send({ error: error instanceof Error ? error.message : String(error) });
        }
      },
    });
  }
}

/** True if the request is allowed to read and change the emulator. */
function admits(control: Control, request: FastifyRequest): boolean {
  if (control.token === undefined) {
    // Checks the Host header: a foreign name can resolve to this machine (DNS rebinding).
    if (!loopback.test(request.headers.host ?? '')) return false;
    return ['127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(request.raw.socket.remoteAddress ?? '');
  }
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${control.token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** True if a foreign web page might have made a browser on this machine send this request. */
function isFromPage({ headers, body }: FastifyRequest): boolean {
  const origin = headers.origin?.replace(/^https?:\/\//, '');
  if (origin !== undefined && !loopback.test(origin)) return true;
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return typeof body === 'string' && body !== '' && type !== 'application/json';
}

function callOf(request: FastifyRequest): ControlCall {
  const { pathname, searchParams } = new URL(request.url, 'http://emulator');
  const text = typeof request.body === 'string' ? request.body : '';
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  return { path: pathname.split('/').slice(2), query: searchParams, body };
}

function teamOf({ teams }: Control, { path }: ControlCall): TeamControl {
  const team = teams.find((candidate) => String(candidate.id) === path[1]);
  if (team === undefined) throw new Error(`There is no team ${path[1]}.`);
  return team;
}

function rowOf({ path }: ControlCall): number {
  return Number(path[3]);
}

function titleOf({ body }: ControlCall): string {
  return z.strictObject({ title: z.string() }).parse(body).title;
}
