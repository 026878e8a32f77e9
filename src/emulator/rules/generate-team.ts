import { generateUsers } from './generate-users.ts';
import type { TeamOptions } from '../options.ts';
import { createRandom, type Random } from '../random.ts';
import { createTeam, type PlayedTeam, nextId } from './played-team.ts';
import { type Moment, momentOf } from '../wire/show-timestamp.ts';

const firstDayMs = Date.UTC(2020, 0, 6);
const lastDayMs = Date.UTC(2026, 4, 31);

const tagStems =
  'VIP Lead Customer Prospect Reorder Delivery Warranty Event Newsletter Callback Invoice Support Partner Region Shift Clinic Open-House Loyalty Renewal Survey'.split(
    ' ',
  );
const tagEnds =
  'north south east west spring summer autumn winter 2024 2025 2026 new old gold silver é 🎉'.split(' ');
const fieldTitles = [
  'Birthday',
  'Customer number',
  'Preferred language',
  'Company',
  'Sales region',
  'Straße',
  'Postal code',
  'Renewal date',
  'Plan',
  'Emergency contact',
  "Owner's name",
  '備考',
];
const surveyTypes = ['nps', 'csat', 'yes_no'] as const;

/** Generates a realistic team, the same for the same options on every machine. */
export function generateTeam(options: Required<Omit<TeamOptions, 'apiKey' | 'secrets'>>): PlayedTeam {
  const team = createTeam(options.teamId, options.name);
  // Each kind of row has its own random source, so that more rows of one kind do not change the rows of other kinds.
  const source = (kind: number): Random => createRandom(options.seed * 31 + options.teamId * 7 + kind);
  team.contacts = options.contacts;
  team.ratePerMinute = options.ratePerMinute;
  generateUsers(team, options.users, source(1));
  generateTags(team, options.tags, source(2));
  generateFields(team, options.fields, source(3));
  generateSurveys(team, options.surveys, source(4));
  generateInboxes(team, options.inboxes, source(5));
  return team;
}

/** Generates single tags and imports of tags. The tags of one import share one `updated` to the nanosecond. */
function generateTags(team: PlayedTeam, count: number, random: Random): void {
  let left = 0;
  let together: Moment = momentOf(firstDayMs, 0, true);
  for (let at = 0; at < count; at += 1) {
    const id = nextId(team);
    if (left === 0) {
      left = random.fraction() < 0.15 ? random.between(2, 40) : 1;
      together = momentOf(random.between(firstDayMs, lastDayMs), id, true);
    }
    left -= 1;
    team.tags.set(id, {
      id,
      tag: `${random.pick(tagStems)} ${random.pick(tagEnds)} ${at + 1}`,
      color: `#${random.between(0, 0xffffff).toString(16).padStart(6, '0')}`,
      rev: random.between(1, 9),
      created: momentOf(together.ms - random.between(0, 30) * 86_400_000, id),
      updated: together,
    });
  }
}

function generateFields(team: PlayedTeam, count: number, random: Random): void {
  const users = [...team.users.keys()];
  for (let at = 0; at < count; at += 1) {
    const id = nextId(team);
    const title = fieldTitles[at % fieldTitles.length] ?? 'Field';
    team.fields.set(id, {
      id,
      title: at < fieldTitles.length ? title : `${title} ${Math.floor(at / fieldTitles.length) + 1}`,
      uid: users.length === 0 ? 0 : random.pick(users.slice(0, 5)),
      op: random.pick(['create', 'update']),
      rev: random.between(1, 5),
    });
  }
}

function generateSurveys(team: PlayedTeam, count: number, random: Random): void {
  for (let at = 0; at < count; at += 1) {
    const id = nextId(team);
    const created = random.between(firstDayMs, lastDayMs);
    team.surveys.set(id, {
      id,
      name: `Survey ${at + 1}`,
      type: random.pick(surveyTypes),
      question: random.pick([
        'How likely are you to recommend us?',
        'Were you satisfied today?',
        'Is it fixed?',
      ]),
      created: momentOf(created, id),
      updated: momentOf(random.between(created, lastDayMs), id),
    });
  }
}

function generateInboxes(team: PlayedTeam, count: number, random: Random): void {
  const users = [...team.users.keys()];
  for (let at = 0; at < count; at += 1) {
    const id = nextId(team);
    const phone = `1${random.between(200, 989)}555${String(team.id % 100).padStart(2, '0')}${String(at).padStart(2, '0')}`;
    team.inboxes.set(id, {
      id,
      name: at === 0 ? 'Main line' : `Inbox ${at + 1}`,
      members: at === 0 ? users : users.filter(() => random.fraction() < 0.4),
      phones: at % 3 === 1 ? [phone, `${phone.slice(0, -1)}9`] : [phone],
      rev: random.between(1, 40),
    });
  }
}
