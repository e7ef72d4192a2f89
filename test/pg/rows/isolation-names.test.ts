import { afterEach, assert, describe, it } from "vitest"
import { type CallerName, serveIsolated } from "../../support/rows/isolation.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"

/** Overloads in `public` which match better than PostgreSQL's own functions, and record their use. */
const functions = [
  ["has_schema_privilege(text, oid, text)", "boolean", "true"],
  ["has_table_privilege(text, oid, text)", "boolean", "true"],
  ["has_column_privilege(text, oid, text, text)", "boolean", "true"],
  ["pg_has_role(text, text)", "boolean", "true"],
  ["json_build_object(text, text)", "json", "'{}'"],
  ["json_build_object(text, text, text, text)", "json", "'{}'"],
  ["jsonb_build_object(text, text)", "jsonb", "'{}'"],
  ["to_json(text)", "json", "'1'"],
  ["to_json(record)", "json", "'1'"],
  ["to_jsonb(text)", "jsonb", "'1'"],
  ["format(text, text)", "text", "'forged'"],
  ["format(text, text, text)", "text", "'forged'"],
  ["concat(text, text)", "text", "'forged'"],
  ["array_to_string(text[], text)", "text", "'forged'"],
  ["array_length(text[], int)", "int", "1"],
  ["cardinality(text[])", "int", "1"],
  ["unnest(text[])", "setof text", ""],
  ["unnest(oid[])", "setof oid", ""],
  ["unnest(int[])", "setof int", ""]
] as const
const aggregates = [
  ["json_agg", "record"],
  ["json_agg", "json"],
  ["json_agg", "text"],
  ["jsonb_agg", "record"],
  ["array_agg", "text"],
  ["array_agg", "oid"],
  ["count", "text"],
  ["count", "record"],
  ["max", "record"],
  ["min", "record"],
  ["bool_or", "text"],
  ["string_agg", "name, text"]
] as const

const recording = `
  create table used (name text, login text);
  grant all on used to public;
  create function record_use(name text) returns void language plpgsql as $$ begin
    insert into public.used values (name, session_user); end $$;`

const overloads = (named: (signature: string) => boolean) => `
  ${functions
    .filter(([signature]) => named(signature))
    .map(([signature, result, value]) => {
      const body = result.startsWith("setof") ? "return;" : `return ${value};`
      return `create function public.${signature} returns ${result} language plpgsql as
        $$ begin perform public.record_use('${signature}'); ${body} end $$;`
    })
    .join("\n")}
  ${aggregates
    .filter(([name]) => named(name))
    .map(([name, types], n) => {
      const step = `public.overload_${n}`
      return `create function ${step}(text, ${types}) returns text language plpgsql as
          $$ begin perform public.record_use('${name}(${types})'); return '[]'; end $$;
        create aggregate public.${name}(${types}) (sfunc = ${step}, stype = text);`
    })
    .join("\n")}`

const isolated = serveIsolated(
  `
    create table lists (id int primary key, name text);
    create table tasks (id int primary key, list int references lists, tags text[] default '{a}');
    insert into lists values (1, 'one'), (2, 'two');
    insert into tasks values (1, 1), (2, 1), (3, 2);
    create function twice(n int) returns int language sql as 'select n * 2';
    create function all_lists() returns setof lists language sql stable as 'select * from lists';
    create function public_helper() returns text language sql as $$ select 'helped' $$;
    create schema if not exists other;
    create table other.neighbours (id int primary key, name text);
    insert into other.neighbours values (1, 'near');
    create table other.events (id int);
    create type other.mood as enum ('calm', 'glad');
    create table other.things (id int primary key, name text, mood other.mood default 'calm', kind regclass);
    insert into other.things values (1, 'calm', 'calm', 'other.neighbours');
    set check_function_bodies = off;
    create function other.by_sql() returns setof text language sql stable as 'select name from neighbours';
    create function other.by_plpgsql() returns text language plpgsql as
      $$ begin return (select name from neighbours); end $$;
    create function other.by_helper() returns text language plpgsql as $$ begin return public_helper(); end $$;
    create function other.named(kind regclass) returns text language sql as $$
      select nspname || '.' || relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = kind $$;
    create function other.typed(feeling other.mood) returns text language plpgsql as
      $$ declare other_feeling mood = feeling; begin return other_feeling; end $$;
    create function other.label(other.things) returns text language plpgsql stable as
      $$ begin return (select name from neighbours where id = $1.id); end $$;
    create function other.log() returns trigger language plpgsql as
      $$ begin insert into events values (new.id); return new; end $$;
    create trigger log after insert or update on other.things for each row execute function other.log();
    grant usage on schema other to anon, authenticated;
    grant all on all tables in schema public, other to anon, authenticated;
    grant execute on all functions in schema public, other to anon, authenticated`,
  { SVC_DB_SCHEMAS: "public,other", SVC_DB_AGGREGATES: "true" }
)
afterEach(endFeeds)

describe("functions and types find their neighbours in the schema of the request", () => {
  const other = { "accept-profile": "other", "content-profile": "other" }
  it.each([
    ["POST /v1/db/rpc/by_sql", {}, '["near"]'],
    ["GET /v1/db/rpc/by_sql", undefined, '["near"]'],
    ["POST /v1/db/rpc/by_plpgsql", {}, '"near"'],
    ["POST /v1/db/rpc/by_helper", {}, '"helped"'],
    ["POST /v1/db/rpc/typed", { feeling: "glad" }, '"glad"'],
    ["GET /v1/db/things?select=label&id=eq.1", undefined, '[{"label":"near"}]'],
    ["GET /v1/db/things?select=id&label=eq.near", undefined, '[{"id":1}]'],
    ["GET /v1/db/things?select=name::mood&id=eq.1", undefined, '[{"name":"calm"}]'],
    ["POST /v1/db/rpc/named", { kind: "neighbours" }, '"other.neighbours"'],
    ["POST /v1/db/things?select=id", { id: 2, kind: "neighbours" }, '[{"id":2}]'],
    ["PATCH /v1/db/things?id=eq.2&select=id", { name: "new" }, '[{"id":2}]']
  ] as const)("%s", async (line, body, expected) => {
    for (const caller of ["u1", "anon", "service"] satisfies ReadonlyArray<CallerName>) {
      await isolated.outside("delete from other.things where id = 2")
      if (line.startsWith("PATCH"))
        await isolated.outside(
          "set session_replication_role = replica; insert into other.things (id) values (2); reset all"
        )
      const { status, text } = await isolated.ask(caller, line, body, other)
      assert.strictEqual(text.replaceAll(/\s/g, ""), expected, `${caller}: ${status}`)
    }
  })
})

describe("functions in public that match better than PostgreSQL's own", () => {
  const requests: ReadonlyArray<readonly [CallerName, string, unknown?]> = (["u1", "anon", "service"] as const).flatMap(
    (caller) =>
      [
        [caller, "GET /v1/db/lists"],
        [caller, "GET /v1/db/lists?select=name,tasks(id,tags)&order=id"],
        [caller, "GET /v1/db/tasks?select=id,...lists(name)&tags=cs.{a}"],
        [caller, "GET /v1/db/lists?select=count(),id.max(),name.min()"],
        [caller, "GET /v1/db/lists?name=in.(one,two)&or=(id.eq.1,name.like.t*)"],
        [caller, "POST /v1/db/tasks?select=id,lists(name)", [{ id: 10, list: 1 }]],
        [caller, "PATCH /v1/db/tasks?id=eq.10", { list: 2 }],
        [caller, "DELETE /v1/db/tasks?id=eq.10"],
        [caller, "POST /v1/db/rpc/twice", { n: 2 }],
        [caller, "GET /v1/db/rpc/all_lists?name=eq.one"],
        [caller, "GET /v1/db/"]
      ] as const
  )
  const own: typeof requests = [
    ["service", "GET /api/keys"],
    ["service", "POST /api/keys", { keyType: "anon" }],
    ["service", "GET /api/realtime/tables"],
    ["service", "GET /api/realtime/subscriptions"],
    ["service", "GET /api/flags"],
    ["service", "GET /api/webhooks"],
    ["service", "GET /api/backups"],
    ["service", "GET /v1/database/schema"],
    ["service", "POST /v1/sql", { sql: "select 1" }]
  ]

  const assertAnswered = async (all: typeof requests) => {
    const failures: Array<string> = []
    for (const [caller, line, body] of all) {
      const { status, text } = await isolated.ask(caller, line, body)
      if (status >= 300) failures.push(`${caller} ${line}: ${status} ${text.slice(0, 200)}`)
    }
    assert.deepStrictEqual(failures, [])
  }
  const assertUnused = async () =>
    assert.deepStrictEqual(await isolated.outside("select distinct name, login from used order by name"), [])

  it("are never called by the service itself", async () => {
    await isolated.outside(`${recording}; ${overloads((name) => name.includes("privilege"))}`)
    await assertAnswered(own)
    await subscribe(isolated.service(), "lists")
    const feed = await openFeed(isolated.service(), { key: isolated.service().anon })
    await isolated.outside("insert into lists values (7, 'seven')")
    await feed.upTo(({ row }) => row?.["name"] === "seven")
    await assertUnused()
  })

  it("are never called by requests, and break none", async () => {
    await isolated.outside(overloads((name) => !name.includes("privilege")))
    await isolated.renew()
    await assertAnswered([...requests, ...own])
    await assertUnused()
  })
})
