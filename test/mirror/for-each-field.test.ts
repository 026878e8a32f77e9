import { describe, expect, test } from 'vitest';
import { forEachField } from '../../src/mirror/migrations/for-each-field.ts';

describe('forEachField', () => {
  test.each([
    ['({columns u.COLUMN})', '(u.first_name, u.last_name, u.email, u.phone, u.role_id)'],
    [
      '{columns COLUMN = case FIELD when x then b.COLUMN end}',
      "first_name = case 'name' when x then b.first_name end, last_name = case 'name' when x then b.last_name end, email = case 'email' when x then b.email end, phone = case 'phone' when x then b.phone end, role_id = case 'role_id' when x then b.role_id end",
    ],
    [
      'values {fields (FIELD, VALUE(u.))}',
      "values ('name', jsonb_build_object('first', u.first_name, 'last', u.last_name)), ('email', to_jsonb(u.email)), ('phone', to_jsonb(u.phone)), ('role_id', to_jsonb(u.role_id))",
    ],
    [
      '{selects select FIELD where (COLUMNS(o_)) = x}',
      "select 'name' where (o_first_name, o_last_name) = x union all select 'email' where (o_email) = x union all select 'phone' where (o_phone) = x union all select 'role_id' where (o_role_id) = x",
    ],
    ['\'{}\' {""} {field} FIELD', '\'{}\' {""} {field} FIELD'],
  ])('expands the placeholders for each field in %s', (text, said) => {
    expect(forEachField(text)).toBe(said);
  });

  test('keeps the number of lines, so that an error names the right line of the file', () => {
    const text = 'begin\n{selects select FIELD\n  from t}\nend';
    const lines = forEachField(text).split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[2]).toMatch(/^ {2}from t union all select 'email' from t union all/);
    expect(lines[3]).toBe('end');
  });
});
