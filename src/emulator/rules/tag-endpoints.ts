import { randomUUID } from 'node:crypto';
import { tag, writeResult } from '../wire/answer-schemas.ts';
import { encodeTag } from '../wire/encode.ts';
import {
  type EndpointAnswer,
  bodyEndpoint,
  type EndpointCall,
  type Endpoint,
  notFound,
  ok,
  plainEndpoint,
  refused,
} from '../wire/endpoint.ts';
import { newTag } from '../wire/request-schemas.ts';
import { nextId } from './played-team.ts';
import { momentOf } from '../wire/show-timestamp.ts';
import type { Variants } from '../faults/variants.ts';

export const tagEndpoints: readonly Endpoint[] = [
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/tag',
      summary: 'Creates a tag.',
      request: newTag,
      writes: true,
      response: writeResult,
    },
    (call, body) => createTag(call, body.tag),
  ),
  plainEndpoint({ method: 'GET', path: '/v1/tag/{id}', summary: 'One tag.', response: tag }, (call) => {
    if (Number.isNaN(call.id)) return refused('the id is not an integer');
    const found = call.team.tags.get(call.id);
    if (found === undefined) return notFound(`no tag ${call.id}`);
    return ok(encodeTag(found, call.team.id, call.variants));
  }),
];

/** The key of a tag's name. If two names have the same key, they are the same tag for the service. */
const tagKeys: Readonly<Record<Variants['tag-names'], (name: string) => string>> = {
  exact: (name) => name,
  'any-case': (name) => name.toLowerCase(),
  'any-spaces': collapsed,
  'any-form': (name) => name.normalize(),
  any: (name) => collapsed(name).normalize().toLowerCase(),
};

function collapsed(name: string): string {
  return name.trim().replace(/\s+/g, ' ');
}

function createTag(call: EndpointCall, given: string): EndpointAnswer {
  const { team, variants, clock } = call;
  const keyOf = tagKeys[variants['tag-names']];
  const same = [...team.tags.values()].find((there) => keyOf(there.tag) === keyOf(given));
  if (same !== undefined && variants['same-tag'] === 'refused') return refused('a tag has this name');
  if (same !== undefined && variants['same-tag'] === 'existing') {
    return ok({ id: same.id, rev: same.rev, uuid: randomUUID() });
  }
  const name = variants['tag-spaces'] === 'collapsed' ? collapsed(given) : given;
  const id = nextId(team);
  const now = momentOf(clock.now(), id);
  team.tags.set(id, { id, tag: name, color: '#808080', rev: 1, created: now, updated: now });
  team.version += 1;
  return ok({ id, rev: 1, uuid: randomUUID() });
}
