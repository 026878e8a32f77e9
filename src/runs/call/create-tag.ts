/** Creates a tag, unless a tag of that name exists. */
import { MusterdError, ServiceError } from '../../errors.ts';
import { takeLease } from '../../mirror/team/lease.ts';
import type { LeaseOptions } from '../../mirror/team/lease-holder.ts';
import type { Id } from '../../model/id.ts';
import tags from '../../model/listed/tags.ts';
import { nothingLearned } from '../../model/listing.ts';
import { canonicalName } from '../../model/name.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { WriteResult } from '../../service/messages/wire-schedule.ts';
import { type DirectCaller, type DirectResult, sendOnce } from './send-once.ts';

export type CreatedTag =
  | { readonly isThere: true; readonly ids: readonly Id[] }
  | ({
      readonly isThere: false;
      readonly ids: readonly Id[];
      /** Why the listing could not be read after the call; `null` if it could be read. */
      readonly unseen: string | null;
    } & DirectResult<WriteResult>);

const longestName = 300;

/** The name in the form in which tags are compared and sent. @throws MusterdError `usage` */
export function readTagName(text: string): string {
  const name = canonicalName(text);
  if (name !== '' && Array.from(name).length <= longestName) return name;
  throw new MusterdError('usage', `A tag needs a name of 1 to ${longestName} characters`);
}

/** The ids of all tags of that name. @throws MusterdError `service` if the listing is incomplete */
async function listTags(service: ServiceClient, name: string): Promise<readonly Id[]> {
  const listing = await service.list(tags, { memory: nothingLearned });
  const flaw =
    listing.status === 'incomplete'
      ? listing.because
      : listing.isOffered
        ? null
        : 'the service does not offer it';
  if (flaw !== null) throw new MusterdError('service', `The listing of tags is incomplete (${flaw})`);
  return listing.rows.flatMap(({ id, tag }) =>
    typeof tag === 'string' && canonicalName(tag) === name ? [id] : [],
  );
}

/** Like `listTags`, but its error adds that nothing was sent. @throws MusterdError `service` if the listing is incomplete */
export async function findTags(service: ServiceClient, name: string): Promise<readonly Id[]> {
  return await listTags(service, name).catch((error: unknown) => {
    if (!(error instanceof MusterdError) || error instanceof ServiceError) throw error;
    throw new MusterdError('service', `${error.message}. Nothing was sent`, {
      hint: 'Without the listing, a second tag of this name could be created. Try again later.',
    });
  });
}

/** Reads the listing before and after the call, and holds the team's lease meanwhile, so that no duplicate is created. */
export async function createTag(
  caller: DirectCaller,
  name: string,
  leaseOptions: LeaseOptions,
): Promise<CreatedTag> {
  const { config, db, service } = caller;
  const lease = db === undefined ? undefined : await takeLease(db, config.team, leaseOptions);
  try {
    let unseen: string | null = null;
    let ids = await findTags(service, name);
    if (ids.length > 0) return { isThere: true, ids };
    const result = await sendOnce(caller, {
      subject: 'tag',
      sent: { tag: name },
      lease,
      send: (options) => service.createTag(name, options),
      isShown: async () => {
        ids = await listTags(service, name).catch((error: unknown) => {
          unseen = error instanceof Error ? error.message : String(error);
          return [];
        });
        return ids.length > 0;
      },
    });
    return { isThere: false, ids, unseen, ...result };
  } finally {
    // A lease that cannot be released expires later.
    await lease?.release().catch(() => undefined);
  }
}
