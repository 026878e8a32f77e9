/** Settings that the database keeps, because it judges by them what people do in SQL. */

/** The things that may be written besides users (`write`). */
export interface Writes {
  readonly tags: boolean;
  /** `unattended`: nobody has to approve a message. */
  readonly schedule: boolean | 'unattended';
  readonly conversations: boolean;
  /** IANA name of the zone in which people are told when a message is due, and in which a day begins. */
  readonly timezone: string;
}

export interface KeptSettings {
  /** Whether people may not approve their own edits (`push.fourEyes`). */
  readonly fourEyes: boolean;
  readonly writes: Writes;
}

const nothing: Writes = { tags: false, schedule: false, conversations: false, timezone: 'UTC' };

/** The settings as the database keeps them. What nobody has allowed is not allowed. */
export const keptFrom = (fourEyes: boolean, writes: Partial<Writes>): KeptSettings => ({
  fourEyes,
  writes: { ...nothing, ...writes },
});

/** The wanted settings, as far as they allow no more than the kept ones. */
export function stricterOf(kept: KeptSettings, wanted: KeptSettings): KeptSettings {
  const schedules = [kept.writes.schedule, wanted.writes.schedule];
  return {
    fourEyes: kept.fourEyes || wanted.fourEyes,
    writes: {
      tags: kept.writes.tags && wanted.writes.tags,
      schedule: [false, true, 'unattended' as const].find((value) => schedules.includes(value)) ?? false,
      conversations: kept.writes.conversations && wanted.writes.conversations,
      timezone: wanted.writes.timezone,
    },
  };
}

export const isSameKept = (a: KeptSettings, b: KeptSettings): boolean =>
  a.fourEyes === b.fourEyes &&
  (['tags', 'schedule', 'conversations', 'timezone'] as const).every(
    (setting) => a.writes[setting] === b.writes[setting],
  );
