import type { Id } from '../../model/id.ts';
import type { JsonObject } from '../json-object.ts';
import { type Nullable, type Shape, takeFields, takeText } from '../wire.ts';

interface SurveyFields {
  readonly name: string;
  /** "Allowed values of survey `type`: not shown" (interface.md, Other shapes, 4). */
  readonly type: string;
  readonly question: string;
  readonly created: string;
  readonly updated: string;
}

/** interface.md, Survey. Everything but the id may be `null`. */
export type Survey = Nullable<SurveyFields> & { readonly id: Id; readonly raw: JsonObject };

const shape: Shape<SurveyFields> = {
  name: ['name', takeText],
  type: ['type', takeText],
  question: ['question', takeText],
  created: ['created', takeText],
  updated: ['updated', takeText],
};

export function decodeSurvey(row: JsonObject, id: Id): Survey {
  return { id, ...takeFields(row, shape) };
}
