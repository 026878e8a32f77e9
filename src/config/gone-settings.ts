import { type Complaint, complain, type Origins } from './complaints.ts';
import { hasSetting, type RawSettings, withoutSetting } from './raw-settings.ts';

/**
 * Settings of earlier versions, and what replaces them. They have no effect: with a file that names one the daemon still
 * starts, and warns.
 */
export const goneSettings: Readonly<Record<string, string>> = {
  'edits.debounceMs': 'the daemon waits 50 ms for more edits',
  'push.maxTries': 'a field is held after 3 tries',
  'http.connectTimeoutMs': 'a connection has 5 s',
  'http.headersTimeoutMs': 'an answer has half of http.totalDeadlineMs to begin',
  'rate.burst': 'it is learned from the service',
  clock: 'tokens are dated by the service where the clocks differ by 30 s to 15 minutes',
  'pages.max': 'a listing may have 100,000 pages',
  'guard.minPopulation': 'shares apply from 20 users on',
  'guard.maxDrift': 'a fifth of the users may lack a field that they had',
  'lease.waitMs': 'the commands take --wait <seconds>',
};

/** Drops the settings that are gone. @returns the rest, with a warning for each */
export function withoutGone(merged: RawSettings, origins: Origins) {
  let settings = merged;
  const warnings: Complaint[] = [];
  for (const [name, instead] of Object.entries(goneSettings)) {
    const path = name.split('.');
    if (!hasSetting(merged, path)) continue;
    settings = withoutSetting(settings, path);
    warnings.push(complain(origins, path, `this is no setting any more: ${instead}`));
  }
  return { settings, warnings };
}
