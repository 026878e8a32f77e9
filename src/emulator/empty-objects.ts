import { z } from 'zod';

/** The body with `{}` wherever it has `[]` and an object is documented, at any depth. */
export function withEmptyObjects(documented: unknown, value: unknown): unknown {
  if (documented instanceof z.ZodOptional || documented instanceof z.ZodNullable)
    return withEmptyObjects(documented.unwrap(), value);
  const isObject = documented instanceof z.ZodObject;
  if ((isObject || documented instanceof z.ZodRecord) && Array.isArray(value) && value.length === 0)
    return {};
  if (documented instanceof z.ZodArray && Array.isArray(value))
    return value.map((element) => withEmptyObjects(documented.element, element));
  if (!isObject || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { shape } = documented;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withEmptyObjects(shape[key], inner)]),
  );
}
