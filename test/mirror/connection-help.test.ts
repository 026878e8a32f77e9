import { describe, expect, it } from 'vitest';
import { connectionHelp } from '../../src/mirror/db/database-url.ts';

describe('connectionHelp', () => {
  it.each([
    ['postgres://u:secret@h:5433/d', 'postgres://u@h:5433/d', "psql 'postgres://u@h:5433/d'"],
    [
      'postgres://h/d?user=u&password=secret&sslmode=no-verify',
      'postgres://h/d?user=u&sslmode=no-verify',
      "psql 'postgres://h/d?user=u&sslmode=require'",
    ],
    [
      'postgres://u:secret@a:1,b/d?target_session_attrs=read-write',
      'postgres://u@a:1,b/d?target_session_attrs=read-write',
      "psql 'postgres://u@a:1,b/d?target_session_attrs=read-write'",
    ],
    ["postgres://o'n:secret@h/d", "postgres://o'n@h/d", "psql 'postgres://o%27n@h/d'"],
  ])('returns the URL and a psql command without the password of %s', (url, shown, psql) => {
    expect(connectionHelp(url)).toEqual({ url: shown, psql });
  });
});
