import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import * as answers from './answer-schemas.ts';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from '../rules/endpoints.ts';
import * as requests from './request-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

/** The schemas that the document lists by name. The other schemas refer to them. */
const named: Readonly<Record<string, z.ZodType>> = {
  Inbox: answers.inbox,
  User: answers.user,
  Team: answers.team,
  ContactField: answers.contactField,
  Tag: answers.tag,
  Survey: answers.survey,
  ScheduledMessage: answers.scheduledMessage,
  WriteResult: answers.writeResult,
  Pagination: requests.pageRequest,
  UpdateUser: requests.userUpdate,
  ScheduleRequest: requests.scheduleRequest,
  ScheduleContent: requests.scheduleContent,
  GalleryEntry: requests.galleryEntry,
  Error: answers.errorLabel,
};

export const openApiPath = '/openapi.json';

/** Serves the document without authentication, as is usual. It is made anew per request, because requests are few. */
export function addOpenApiRoute(app: FastifyInstance): void {
  app.get(openApiPath, { exposeHeadRoute: false }, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(openApiDocument())),
  );
}

/** The interface as an OpenAPI 3.1 document, made from the emulator's own schemas. */
export function openApiDocument(): Json {
  const schemas = new Map<string, unknown>();
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints) {
    const path = paths[endpoint.path] ?? {};
    paths[endpoint.path] = { ...path, [endpoint.method.toLowerCase()]: operation(endpoint, schemas) };
  }
  const error = jsonContent(answers.errorLabel, schemas, 'output');
  return {
    openapi: '3.1.0',
    info: {
      title: 'Team Messaging Service',
      version: '1.0',
      description:
        "What musterd's emulator plays, made from its own schemas. Errors are a status code with a JSON string body.",
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{base_url}',
        description: 'All paths are relative to it.',
        variables: { base_url: { default: 'https://service.invalid', description: 'MUSTERD_BASE_URL' } },
      },
    ],
    security: [{ ApiSecretJwtAuth: [] }, { LegacyApiKeyAuth: [] }],
    tags: tagNames.map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes,
      headers: { RequestId: requestIdHeader },
      responses: Object.fromEntries(
        Object.entries(errorResponses).map(([name, description]) => [
          name,
          { description, headers: requestIdReference, content: error },
        ]),
      ),
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

const tagNames = [
  ['Team', 'The team and its inboxes.'],
  ['Users', "The team's users, also called memberships."],
  ['Contacts', 'Counts of contacts and the definitions of their custom fields.'],
  ['Tags', 'Contact tags.'],
  ['Surveys', 'Surveys, whose IDs are used in message sends.'],
  ['Conversations', 'Messaging threads.'],
  ['Schedules', 'Scheduled messages.'],
] as const;

/** The OpenAPI tag of a path: the first pattern that matches counts. `/v1/tags` and `/v1/tag/{id}` share one. */
const tagsByPath: readonly (readonly [RegExp, (typeof tagNames)[number][0]])[] = [
  [/users/, 'Users'],
  [/contact/, 'Contacts'],
  [/tag/, 'Tags'],
  [/survey/, 'Surveys'],
  [/conversation/, 'Conversations'],
  [/schedule/, 'Schedules'],
  [/./, 'Team'],
];

const securitySchemes: Json = {
  ApiSecretJwtAuth: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'HS256, header {alg: HS256, typ: JWT}, iss = the Secret ID, iat = Unix time in seconds, signed with <Secret ID>||<Secret Key>; expires 5 minutes after iat.',
  },
  LegacyApiKeyAuth: {
    type: 'http',
    scheme: 'bearer',
    description: 'The legacy team API key; planned for deprecation.',
  },
};

const requestIdHeader: Json = {
  description: 'Identifies the request for support.',
  required: true,
  schema: { type: 'string' },
};
const requestIdReference: Json = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };

const errorResponses: Readonly<Record<string, string>> = {
  BadRequest: 'Invalid request: `bad_data` (inbox listing) or `error`.',
  Unauthorized: '`Unauthorized`: missing, invalid or expired credentials.',
  NotFound: 'There is none with this ID.',
  TooManyRequests: '`too many requests`: more than 500 in a minute.',
  ServerError: '`error`: server error.',
};

function operation(endpoint: Endpoint, schemas: Map<string, unknown>): Json {
  const hasId = endpoint.path.endsWith('{id}');
  return {
    operationId: operationId(endpoint),
    summary: endpoint.summary,
    tags: [tagsByPath.find(([pattern]) => pattern.test(endpoint.path))?.[1]],
    ...(hasId ? { parameters: [idParameter] } : {}),
    ...(endpoint.request === undefined
      ? {}
      : {
          requestBody: {
            required: endpoint.bodyRequired,
            content: jsonContent(endpoint.request, schemas, 'input'),
          },
        }),
    responses: {
      200: {
        description: endpoint.summary,
        headers: requestIdReference,
        content: jsonContent(endpoint.response, schemas, 'output'),
      },
      400: { $ref: '#/components/responses/BadRequest' },
      401: { $ref: '#/components/responses/Unauthorized' },
      ...(hasId ? { 404: { $ref: '#/components/responses/NotFound' } } : {}),
      429: { $ref: '#/components/responses/TooManyRequests' },
      default: { $ref: '#/components/responses/ServerError' },
    },
  };
}

const idParameter: Json = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } };

/** The operation id: `POST /v1/users/update` is `postUsersUpdate`. */
function operationId({ method, path }: Endpoint): string {
  const words = path
    .replace('/v1/', '')
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
}

function jsonContent(schema: z.ZodType, schemas: Map<string, unknown>, io: 'input' | 'output'): Json {
  return { 'application/json': { schema: schemaOf(schema, schemas, io) } };
}

/** The JSON Schema of a zod schema. Named schemas in it are moved to the components and replaced by references. */
function schemaOf(schema: z.ZodType, schemas: Map<string, unknown>, io: 'input' | 'output'): Json {
  const metadata = z.registry<{ readonly id: string }>();
  for (const [id, known] of Object.entries(named)) metadata.add(known, { id });
  const {
    $defs = {},
    $schema: _dialect,
    ...own
  } = z.toJSONSchema(schema, { metadata, io, override: describe });
  for (const [name, definition] of Object.entries($defs)) schemas.set(name, atComponents(definition));
  return atComponents(own) as Json;
}

/** Adds the schema's descriptions, and removes bounds that are only the limits of JavaScript's safe integers. */
function describe(context: {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: Record<string, unknown>;
}): void {
  const { zodSchema, jsonSchema } = context;
  const description = z.globalRegistry.get(zodSchema)?.description;
  if (description !== undefined) jsonSchema['description'] = description;
  for (const bound of ['minimum', 'maximum']) {
    if (Math.abs(Number(jsonSchema[bound])) === Number.MAX_SAFE_INTEGER) delete jsonSchema[bound];
  }
}

function atComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(atComponents);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' ? String(inner).replace('#/$defs/', '#/components/schemas/') : atComponents(inner),
    ]),
  );
}
