import type { Id } from '../../model/id.ts';
import type { JsonObject } from '../json-object.ts';
import { takeId, takeInteger } from '../row-flaws.ts';
import {
  type Nullable,
  type Shape,
  takeBoolean,
  takeFields,
  takeList,
  takeObject,
  takeText,
} from '../wire.ts';

interface WidgetSettingsFields {
  readonly backgroundColor: string;
  readonly buttonColor: string;
  readonly fabBackgroundColor: string;
  readonly fabTextColor: string;
  readonly message: string;
  readonly name: string;
  readonly phone: string;
  readonly titleBackgroundColor: string;
  readonly titleTextColor: string;
  readonly tos: string;
  readonly position: bigint;
  readonly previewEnabled: boolean;
}

interface InboxFields {
  readonly name: string;
  readonly team: Id;
  /** "IDs of team members with access". */
  readonly members: readonly Id[];
  /** "service phone numbers of the inbox", as the service wrote them: with or without a plus. */
  readonly phones: readonly string[];
  readonly phone: string;
  readonly allowedDomains: readonly string[];
  readonly autoAssignable: boolean;
  readonly bcoChats: boolean;
  readonly forwardNumber: string;
  readonly invited: readonly string[];
  readonly op: string;
  readonly rev: bigint;
  readonly widgetCode: string;
  readonly widgetSettings: WidgetSettings;
}

/** interface.md, Inbox, `widget_settings`. */
type WidgetSettings = Nullable<WidgetSettingsFields> & { readonly raw: JsonObject };

/** interface.md, Inbox. Everything but the id may be `null`: absent, null, or of another type (then in `raw`). */
export type Inbox = Nullable<InboxFields> & { readonly id: Id; readonly raw: JsonObject };

const widgetShape: Shape<WidgetSettingsFields> = {
  backgroundColor: ['background_color', takeText],
  buttonColor: ['button_color', takeText],
  fabBackgroundColor: ['fab_background_color', takeText],
  fabTextColor: ['fab_text_color', takeText],
  message: ['message', takeText],
  name: ['name', takeText],
  phone: ['phone', takeText],
  titleBackgroundColor: ['title_background_color', takeText],
  titleTextColor: ['title_text_color', takeText],
  tos: ['tos', takeText],
  position: ['position', takeInteger],
  previewEnabled: ['preview_enabled', takeBoolean],
};

const shape: Shape<InboxFields> = {
  name: ['name', takeText],
  team: ['team', takeInteger],
  members: ['members', takeList(takeId)],
  phones: ['phones', takeList(takeText)],
  phone: ['phone', takeText],
  allowedDomains: ['allowed_domains', takeList(takeText)],
  autoAssignable: ['auto_assignable', takeBoolean],
  bcoChats: ['bco_chats', takeBoolean],
  forwardNumber: ['forward_number', takeText],
  invited: ['invited', takeList(takeText)],
  op: ['op', takeText],
  rev: ['rev', takeInteger],
  widgetCode: ['widget_code', takeText],
  widgetSettings: ['widget_settings', takeObject(widgetShape)],
};

export function decodeInbox(row: JsonObject, id: Id): Inbox {
  return { id, ...takeFields(row, shape) };
}
