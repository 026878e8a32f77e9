import { conversationEndpoints } from './conversation-endpoints.ts';
import type { Endpoint } from '../wire/endpoint.ts';
import { listingEndpoints } from './paged-endpoints.ts';
import { scheduleEndpoints } from './schedule-endpoints.ts';
import { tagEndpoints } from './tag-endpoints.ts';
import { teamEndpoints } from './team-endpoints.ts';
import { userEndpoints } from './user-endpoints.ts';

/** All sixteen endpoints of interface.md, Endpoints. */
export const endpoints: readonly Endpoint[] = [
  ...teamEndpoints,
  ...userEndpoints,
  ...listingEndpoints,
  ...tagEndpoints,
  ...conversationEndpoints,
  ...scheduleEndpoints,
];
