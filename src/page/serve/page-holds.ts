/** Holds on the page of a person, begun and ended in the name of the person who logged in. */
import { MusterdError } from '../../errors.ts';
import { fields } from '../../model/fields.ts';
import { type PersonRead, readPerson } from '../read/page-person.ts';
import type { PageReader } from '../read/page-reader.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import { refusedPage } from '../render/decide.ts';
import { type HoldRequest, isHoldField } from '../render/hold-form.ts';
import { to } from '../render/links.ts';
import { onePerson } from '../render/person.ts';
import type { PageContext, PageShown } from '../render/view.ts';
import { endHold, holdFields, readUntil } from '../../runs/hold-fields.ts';
import { readField } from '../../runs/named-user.ts';
import type { PageQuestion } from './page-routes.ts';
import { readReason, requireReadable } from './decision-form.ts';
import { type FormHandler, type PostedForm, setupOf } from './deciding.ts';

export const holdPattern = '/people/:team/:id';

const holdRequestOf = ({ form }: PostedForm): HoldRequest => ({
  deed: form.get('deed') === 'end' ? 'end' : 'hold',
  field: form.getAll('field').length === 1 ? (form.get('field') ?? '') : 'all',
  until: form.get('until') ?? '',
  at: form.get('at') ?? '',
  why: form.get('why') ?? '',
  refusal: undefined,
});

/** The moment that was shown, or the one that was typed. @throws MusterdError `usage` */
function endOf({ until, at }: HoldRequest): TimeFromNow {
  const [how, moment = ''] = until.split(' ');
  try {
    return readUntil(how === 'at' ? at : moment);
  } catch {
    throw new MusterdError('usage', 'The form does not say until when: choose a time, or type one');
  }
}

/** @throws MusterdError `usage` for fields that no form of the page has */
function fieldsOf({ form }: PostedForm) {
  const named = form.getAll('field');
  if (named.length === 0 || !named.every(isHoldField))
    throw new MusterdError('usage', 'The form cannot be read: it does not say which field');
  return named.includes('all') ? fields : named.map(readField);
}

const somebody = async (reader: PageReader, { params }: PageQuestion): Promise<PersonRead | null> => {
  const person = await readPerson(reader, params['id'] ?? '');
  return person === null || person.row.gone_at !== null ? null : person;
};

const nobody = (context: PageContext): PageShown =>
  refusedPage(context, {
    status: 409,
    message: 'Nobody with this id is in the team now',
    hint: undefined,
  });

const prepare: FormHandler['prepare'] = async (options, posted, frame, context) => {
  const { question, form } = posted;
  const person = await somebody(frame.reader, question);
  if (person === null) return nobody(context);
  const request = holdRequestOf(posted);
  const { setup, leased } = setupOf(options, posted);
  const { id } = person;
  try {
    requireReadable(form);
    const wanted = { id, fields: fieldsOf(posted) };
    const wish =
      request.deed === 'end'
        ? undefined
        : { ...wanted, end: endOf(request), why: readReason(form), actor: context.decide?.actor };
    return async () => {
      if (wish !== undefined) await holdFields(setup, leased, wish);
      else if ((await endHold(setup, leased, wanted)).length === 0)
        throw new MusterdError('usage', 'Nobody asks to hold it any more');
      return to(context, question.path);
    };
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    return { ...onePerson(person, context, { ...request, refusal: error.message }), status: 400 };
  }
};

const refusedAfterAll: FormHandler['refusedAfterAll'] = async (posted, frame, context, refusal) => {
  const person = await somebody(frame.reader, posted.question);
  if (person === null) return nobody(context);
  return { ...onePerson(person, context, { ...holdRequestOf(posted), refusal }), status: 409 };
};

export const holding: FormHandler = { tab: 'People', prepare, refusedAfterAll };
