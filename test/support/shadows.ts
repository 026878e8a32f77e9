import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompiledQuery } from 'kysely';
import type { Database } from '../../src/mirror/db/database.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What is written like a call in the SQL of musterd, and in all else that these files hold. */
function readCalls(): readonly string[] {
  const texts = ['migrations', 'src/mirror'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:sql|ts)$/.test(name))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  );
  return [
    ...new Set(texts.flatMap((text) => [...text.matchAll(/\b([a-z_0-9]+)\s*\(/g)].map(([, name]) => name))),
  ].filter((name) => name !== undefined);
}

/**
 * Makes functions and operators in `public` that fit the calls of musterd better than Postgres's own: of the same
 * names, for all pairs of the types that its SQL has to do with. Each of them fails with "a shadow was called".
 */
export async function castShadows(db: Database): Promise<void> {
  const text = `
    create function public.make_shadow(name text, types text) returns void language plpgsql as $make$
    begin
      execute pg_catalog.format($f$create or replace function public.%I(%s) returns text language plpgsql as
        $$ begin raise exception 'a shadow was called: %s(%s)'; end $$ $f$, name, types, name, types);
    end $make$;
    do $do$
    declare
      names text[] := array['${readCalls().join("','")}'];
      types text[] := '{text,name,bigint,integer,boolean,jsonb,timestamptz,interval,float8,numeric,text[],bigint[],oid,regclass}';
      few   text[] := '{text,bigint,integer,jsonb,timestamptz,interval}';
    begin
      create temporary table called on commit drop as
        select p.proname::text as name, bool_or(p.provariadic = '"any"'::regtype) as is_variadic
        from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any (names) group by 1;
      perform public.make_shadow(c.name, t) from called c, unnest(types) t;
      perform public.make_shadow(c.name, t || ',' || u) from called c, unnest(few) t, unnest(few) u;
      perform public.make_shadow(c.name, t || ',' || u || ',' || v)
        from called c, unnest(few) t, unnest(few) u, unnest(few) v where c.is_variadic;
      perform public.make_shadow('shadow_of_an_operator', t || ',' || u) from unnest(types) t, unnest(types) u;
    end $do$;
    do $do$
    declare
      types text[] := '{text,name,bigint,integer,boolean,jsonb,timestamptz,interval,float8,numeric,text[],bigint[],oid,regclass}';
      sign  text;
      l     text;
      r     text;
    begin
      foreach sign in array '{=,<>,<,<=,>,>=,||,->,->>,@>,?,+,-,*,~,!~}'::text[] loop
        foreach l in array types loop
          foreach r in array types loop
            execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.shadow_of_an_operator)', sign, l, r);
          end loop;
        end loop;
      end loop;
    end $do$`;
  // Not as they are typed: they would be called themselves.
  await db.kysely.executeQuery(CompiledQuery.raw(text));
}
