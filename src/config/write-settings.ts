/** The settings for what may be written besides users. By default nothing may. */
import { flag, flagOr, timeZone } from './values.ts';

export const writeSettings = {
  tags: flag
    .default(false)
    .describe('Tags may be made by SQL. The service gives no way to rename or delete one.'),
  schedule: flagOr('unattended')
    .default(false)
    .describe(
      'Messages may be scheduled, replaced and cancelled by SQL. true: a person who did not write it approves each. unattended: they go out without approval.',
    ),
  conversations: flag.default(false).describe('Conversations may be marked as read by SQL.'),
  timezone: timeZone
    .default('UTC')
    .describe('Name of the time zone in which people are told when a message is due.'),
};
