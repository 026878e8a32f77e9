/** The values of a field over time as a lane of bars. Places are percents of the width. */

/** The side that a value came from. */
export type LaneSide = 'mirror' | 'service' | 'adopted' | 'held';

export interface LaneValue {
  readonly fromMs: number;
  readonly toMs: number;
  readonly text: string;
  readonly side: LaneSide;
}

export interface LaneBar {
  readonly side: LaneSide;
  readonly x: number;
  readonly width: number;
  /** The text is empty if it does not fit. */
  readonly text: string;
}

/** The usual width of a lane, and of a character in it. */
const laneWidthPx = 900;
const signPx = 7.4;
const paddingPx = 18;
/** A bar is at least this wide, so that it can be seen however short it was. */
const narrowest = 0.4;

const round = (x: number) => Math.round(x * 100) / 100;

/** @param values in the order of time */
export function drawLane(values: readonly LaneValue[], fromMs: number, toMs: number): readonly LaneBar[] {
  const whole = Math.max(1, toMs - fromMs);
  return values.flatMap(({ fromMs: begin, toMs: end, text, side }) => {
    if (end <= fromMs || begin >= toMs) return [];
    const x = (Math.max(0, begin - fromMs) / whole) * 100;
    const width = Math.max(narrowest, ((Math.min(end, toMs) - fromMs) / whole) * 100 - x);
    const fits = text.length * signPx + paddingPx <= (width / 100) * laneWidthPx;
    return [{ side, x: round(Math.min(x, 100 - narrowest)), width: round(width), text: fits ? text : '' }];
  });
}

/** Joins values that are the same twice in a row, whichever side they came from. */
export function joinValues(values: readonly LaneValue[]): readonly LaneValue[] {
  const joined: LaneValue[] = [];
  for (const value of values) {
    const last = joined.at(-1);
    if (last !== undefined && last.text === value.text && last.toMs === value.fromMs)
      joined[joined.length - 1] = { ...last, toMs: value.toMs };
    else joined.push(value);
  }
  return joined;
}
