import { contactCount, contactField, survey, tag } from '../wire/answer-schemas.ts';
import { countMatching } from './count-contacts.ts';
import { encodeField, encodeSurvey, encodeTag, type TeamRow } from '../wire/encode.ts';
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
import { type Listed, type PageMode, readPage } from '../wire/read-page.ts';
import { type PageRequest, pageRequest, surveyPageRequest } from '../wire/request-schemas.ts';

export const listingEndpoints: readonly Endpoint[] = [
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/contact-fields',
      summary: 'One page of the custom field definitions.',
      request: pageRequest,
      bodyRequired: false,
      dropsNulls: true,
      response: contactField.array(),
    },
    (call, body) =>
      answerPage(
        call,
        body,
        'field-pages',
        { rows: call.team.fields, times: undefined, textOf: ({ title }) => title },
        (row) => encodeField(row, call.team.id, call.variants),
      ),
  ),
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/tags',
      summary: 'One page of the tags.',
      request: pageRequest,
      bodyRequired: false,
      dropsNulls: true,
      response: tag.array(),
    },
    (call, body) =>
      answerPage(call, body, 'pages', { rows: call.team.tags, times, textOf: (row) => row.tag }, (row) =>
        encodeTag(row, call.team.id, call.variants),
      ),
  ),
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/contacts/count',
      summary: 'The count of contacts.',
      request: pageRequest,
      bodyRequired: false,
      dropsNulls: true,
      response: contactCount,
    },
    (call, body) => {
      const count = countMatching(call.team, body);
      return ok(call.variants['count-body'] === 'integer' ? count : String(count));
    },
  ),
  bodyEndpoint(
    {
      method: 'POST',
      path: '/v1/surveys',
      summary: 'One page of the surveys.',
      request: surveyPageRequest,
      bodyRequired: false,
      dropsNulls: true,
      response: survey.array(),
    },
    (call, body) =>
      answerPage(call, body, 'survey-pages', { rows: call.team.surveys, times, textOf: undefined }, (row) =>
        encodeSurvey(row, call.variants),
      ),
  ),
  plainEndpoint(
    { method: 'GET', path: '/v1/survey/{id}', summary: 'One survey.', response: survey },
    (call) => {
      if (Number.isNaN(call.id)) return refused('the id is not an integer');
      const found = call.team.surveys.get(call.id);
      return found === undefined ? notFound(`no survey ${call.id}`) : ok(encodeSurvey(found, call.variants));
    },
  ),
];

const times = {
  created: <M>(row: { readonly created: M }): M => row.created,
  updated: <M>(row: { readonly updated: M }): M => row.updated,
};

function answerPage<R extends { readonly id: number }>(
  call: EndpointCall,
  request: PageRequest,
  numbering: 'pages' | 'field-pages' | 'survey-pages',
  listed: Omit<Listed<R>, 'version' | 'shown'>,
  encode: (row: R) => TeamRow,
): EndpointAnswer {
  const own = call.variants[numbering];
  const mode: PageMode = own === 'same' ? call.variants.pages : own;
  const { version } = call.team;
  const page = readPage({ ...listed, version, shown: call.shown }, request, mode, call.variants);
  return 'refused' in page ? refused(page.refused) : ok(page.rows.map(encode));
}
