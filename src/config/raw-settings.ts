/** Settings as they were written, before they are checked. */

export type Environment = Readonly<Record<string, string | undefined>>;
export type Path = readonly PropertyKey[];
export type RawSettings = Readonly<Record<string, unknown>>;

export function isSection(value: unknown): value is RawSettings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function hasSetting(settings: unknown, path: Path): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return settings !== undefined;
  return isSection(settings) && Object.hasOwn(settings, first) && hasSetting(settings[String(first)], rest);
}

export function withSetting(settings: RawSettings, path: Path, value: unknown): RawSettings {
  const [first, ...rest] = path.map(String);
  if (first === undefined) return settings;
  const inner = settings[first];
  const set = rest.length === 0 ? value : withSetting(isSection(inner) ? inner : {}, rest, value);
  return { ...settings, [first]: set };
}

export function withoutSetting(settings: RawSettings, path: Path): RawSettings {
  const [first, ...rest] = path.map(String);
  if (first === undefined || !Object.hasOwn(settings, first)) return settings;
  const { [first]: inner, ...others } = settings;
  if (rest.length === 0) return others;
  return isSection(inner) ? { ...settings, [first]: withoutSetting(inner, rest) } : settings;
}

/** Drops null values, because YAML reads a section as null if all of its lines are commented out. */
export function withoutEmpty(settings: RawSettings): RawSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}

/** Merges sections. Other values of `above`, including lists, replace those of `below`. */
export function mergeSettings(below: RawSettings, above: RawSettings): RawSettings {
  const merged = Object.entries(above).map(([key, value]) => {
    const inherited = Object.hasOwn(below, key) ? below[key] : undefined;
    return [key, isSection(inherited) && isSection(value) ? mergeSettings(inherited, value) : value] as const;
  });
  return { ...below, ...Object.fromEntries(merged) };
}
