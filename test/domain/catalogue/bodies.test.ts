import { assert, beforeAll, describe, it } from "vitest"
import { loadModule, parsePlPgSQLSync, parseSync } from "libpg-query"
import { namesInBody } from "../../../src/domain/catalogue/bodies/Body.ts"
import { type Names, type Tree } from "../../../src/domain/catalogue/bodies/Names.ts"

beforeAll(() => loadModule())

const parser = {
  sql: (text: string) => parseSync(text) as Tree,
  plpgsql: (text: string) => parsePlPgSQLSync(text) as Tree
}
const body = { oid: "1", xmin: "1", pathed: false }
const ofSql = (source: string) => namesInBody(parser, { ...body, language: "sql", head: "", source })
const ofPlpgsql = (text: string, returns = "int") =>
  namesInBody(parser, {
    ...body,
    language: "plpgsql",
    head: `create function f(a int, list int[]) returns ${returns} language plpgsql as`,
    source: text
  })

const all = (names: Names | undefined) =>
  names && [names.functions, names.columns, names.operators, names.relations, names.types].map((set) => [...set].sort())

describe("names of a body in SQL", () => {
  it.each<readonly [string, ReadonlyArray<ReadonlyArray<string>>]>([
    ["select 1", [[], [], [], [], []]],
    ["select public.f(a, g(b))", [["f", "g"], [], [], [], []]],
    ["select t.x, (t).y from s.t t", [[], ["x", "y"], [], ["t"], []]],
    ["select a + b, c operator(s.-) d, e in (1, 2), f between 1 and 2", [[], [], ["+", "-", "<=", "=", ">="], [], []]],
    ["select a not between 1 and 2, a like 'x', nullif(a, b)", [[], [], ["<", "=", ">", "~~"], [], []]],
    ["select a is distinct from b, a = any (select 1), a < all (c)", [[], [], ["<", "="], [], []]],
    ["select a <> all (select v from w)", [[], [], ["<>"], ["w"], []]],
    ["select a::s.mood[], cast(b as int), date 'now'", [[], [], [], [], ["date", "int4", "mood"]]],
    ["select exists (select from a join b using (id)), array(select x from c)", [[], [], [], ["a", "b", "c"], []]],
    [
      "select sum(x) filter (where f(x)) over (partition by g(x) order by h(x)) from t",
      [["f", "g", "h", "sum"], [], [], ["t"], []]
    ],
    ["select * from f() f, lateral (select g(f.x)) g", [["f", "g"], ["x"], [], [], []]],
    [
      "select distinct on (f(x)) case when g(x) then h(x) else i(x) end from t group by j(x) having k(x) order by l(x) limit m(1) offset n(1)",
      [["f", "g", "h", "i", "j", "k", "l", "m", "n"], [], [], ["t"], []]
    ],
    ["select f(x) union all (select g(x) except values (h(1)))", [["f", "g", "h"], [], [], [], []]],
    [
      "select coalesce(f(a), greatest(g(b), 1)), row(h(c)), array[i(d)], e[j(1)], k(l => m(1))",
      [["f", "g", "h", "i", "j", "k", "m"], [], [], [], []]
    ],
    ["with a as (select * from b), c as (select * from a) select * from c", [[], [], [], ["b"], []]],
    ["with a as (select * from a) select * from a", [[], [], [], ["a"], []]],
    ["with recursive a as (select 1 union select * from a) select * from a", [[], [], [], [], []]],
    ["select (with a as (select 1) select x from a), (select y from a)", [[], [], [], ["a"], []]],
    ["select current_setting('request.jwt.sub', true), current_setting('role')", [["current_setting"], [], [], [], []]],
    ["select extract(year from x), x at time zone 'utc', trim(x)", [["btrim", "extract", "timezone"], [], [], [], []]]
  ])("%s", (text, names) => assert.deepStrictEqual(all(ofSql(text)), names))

  it.each([
    ["insert into s.t (a) values (f(1)) returning id", [["t"], []]],
    ["insert into t select * from u on conflict (a) do nothing", [["t"], []]],
    ["insert into t values (1) on conflict (a) do update set a = excluded.a, (b, c) = (1, 2)", [[], ["t"]]],
    ["update t set a = u.a from u where t.id = u.id", [[], ["t"]]],
    ["delete from s.t using u returning t.*", [[], ["t"]]],
    ["with a as (delete from t returning 1) insert into b select * from a", [["b"], ["t"]]],
    ["select 1; delete from t", [[], ["t"]]]
  ])("of rows that are written: %s", (text, expected) => {
    const names = ofSql(text)
    assert.deepStrictEqual(names && [[...names.inserted], [...names.changed]], expected)
  })

  it("without a schema depend on the search path", () => {
    const names = ofSql("select f(a operator(s.+) b - c), s.g(), x::s.t, y::u from v, s.w")
    assert.deepStrictEqual(names && Object.values(names.bare).map((set) => Array.from(set)), [
      ["f"],
      ["-"],
      ["v"],
      ["u"]
    ])
  })

  it.each([
    "",
    "-- nothing",
    "selec 1",
    "select 1 into t",
    "select * from t for update",
    "select * from t for key share",
    "set role none",
    "do $$ begin end $$",
    "call p()",
    "create table t ()",
    "notify x",
    "lock t",
    "copy t to program 'x'",
    "values (1); vacuum",
    "truncate t",
    "listen x",
    "insert into t values (1) returning with (old as o) o.a",
    "update t set a = 1 where current of c",
    "merge into t using u on true when matched then delete",
    "prepare p as select 1",
    "execute p",
    "explain select 1",
    "begin",
    "select current_schema",
    "select a collate s.c",
    "select x from t order by x using s.<",
    "select json_value('{}', '$' returning s.d)",
    "select json_object('a': 1)",
    "select xmlelement(name a)",
    "select * from f() as (a s.d)",
    "select * from t tablesample s.m(1)",

    "select current_setting('request.headers')",
    "select current_setting('request.jwt.' || 'sub')",
    "select current_setting(x)",
    "select current_setting(missing_ok => true, setting_name => 'request.jwt.sub')",
    "select grouping(a) from t group by cube (a)",
    "merge into t using s on true when matched then delete"
  ])("are not known of %s", (text) => assert.isUndefined(ofSql(text)))
})

describe("names of a body in PL/pgSQL", () => {
  it.each([
    ["a default", "declare x int = dirty(); begin return 1; end"],
    ["a type", "declare x s.dirty; begin return 1; end"],
    ["a type with a length", "declare x s.dirty(1); begin return 1; end"],
    ["an array's type", "declare x dirty[]; begin return 1; end"],
    ["a constant", "declare x constant int not null = dirty(); begin return 1; end"],
    ["an inner block", "begin declare x int = dirty(); begin x = 1; end; return 1; end"],
    ["an assignment", "declare x int; begin x := dirty(); return x; end"],
    ["an assignment with =", "declare x int; begin x = dirty(); return x; end"],
    ["an assignment to a field", "declare x record; begin x.y = dirty(); return 1; end"],
    ["an expression with FROM", "begin return x from dirty x; end"],
    ["a condition", "begin if dirty() then return 1; end if; return 2; end"],
    ["a branch", "begin if a = 1 then return dirty(); end if; return 2; end"],
    ["an ELSIF", "begin if a = 1 then return 1; elsif dirty() then return 2; end if; return 3; end"],
    ["a branch of ELSIF", "begin if a = 1 then return 1; elsif a = 2 then return dirty(); end if; return 3; end"],
    ["an ELSE", "begin if a = 1 then return 1; else return dirty(); end if; end"],
    ["CASE", "begin case dirty() when 1 then return 1; else return 2; end case; end"],
    ["WHEN", "begin case when dirty() then return 1; else return 2; end case; end"],
    ["WHEN of a value", "begin case a when dirty() then return 1; else return 2; end case; end"],
    ["a branch of WHEN", "begin case a when 1 then return dirty(); else return 2; end case; end"],
    ["ELSE of CASE", "begin case a when 1 then return 1; else return dirty(); end case; end"],
    ["RETURN", "begin return dirty(); end"],
    ["RETURN NEXT", "begin return next dirty(); end", "setof int"],
    ["RETURN QUERY", "begin return query select dirty(); end", "setof int"],
    ["a parameter of RAISE", "begin raise exception '%', dirty(); end"],
    ["an option of RAISE", "begin raise exception using message = dirty(); end"],
    ["PERFORM", "begin perform dirty(); return 1; end"],
    ["SELECT INTO", "declare x int; begin select dirty() into x; return x; end"],
    ["the query of a loop", "declare r record; begin for r in select dirty() loop null; end loop; return 1; end"],
    [
      "the body of a loop over rows",
      "declare r record; begin for r in select 1 loop perform dirty(); end loop; return 1; end"
    ],
    ["the start of a loop", "begin for i in dirty()..2 loop null; end loop; return 1; end"],
    ["the end of a loop", "begin for i in 1..dirty() loop null; end loop; return 1; end"],
    ["the step of a loop", "begin for i in 1..2 by dirty() loop null; end loop; return 1; end"],
    ["the body of a loop over numbers", "begin for i in 1..2 loop perform dirty(); end loop; return 1; end"],
    ["the condition of a loop", "begin while dirty() loop null; end loop; return 1; end"],
    ["the body of WHILE", "begin while a > 1 loop perform dirty(); end loop; return 1; end"],
    ["the body of LOOP", "begin loop perform dirty(); end loop; end"],
    ["EXIT", "begin loop exit when dirty(); end loop; return 1; end"],
    ["CONTINUE", "begin loop continue when dirty(); exit; end loop; return 1; end"]
  ])("include that of %s", (_: string, text: string, returns?: string) => {
    const names = ofPlpgsql(text, returns)
    assert.isDefined(names)
    assert.isTrue([names?.functions, names?.relations, names?.types].some((set) => set?.has("dirty")))
  })

  it.each([
    "begin execute 'select 1'; return 1; end",
    "declare x int; begin execute 'select ' || a into x; return x; end",
    "begin return query execute 'select 1'; end",
    "begin return 1; exception when others then return 2; end",
    "begin begin perform 1; exception when others then null; end; return 1; end",
    "begin perform 1 from t for update; return 1; end",
    "declare c cursor for select 1; begin open c; return 1; end",
    "declare c refcursor; begin open c for select 1; return 1; end",
    "declare c cursor for delete from t returning 1; begin for r in c loop null; end loop; return 1; end",
    "declare r record; begin for r in execute 'select 1' loop null; end loop; return 1; end",
    "declare x int; begin foreach x in array list loop null; end loop; return 1; end",
    "declare x int; begin get diagnostics x = row_count; return x; end",
    "begin commit; return 1; end",
    "begin call p(); return 1; end",
    "begin set role none; return 1; end",
    "begin list[f()] = 1; return 1; end",
    "begin assert f(); return 1; end",
    "begin perform set_config('a.b', current_setting('a.c'), false); return 1; end",
    "declare x t.c%type; begin return 1; end",
    "declare x t%rowtype; begin return 1; end",
    "declare x int = 1); delete from t; --; begin return 1; end",
    "begin return 1); delete from t; -- ; end"
  ])("are not known of %s", (text) => assert.isUndefined(ofPlpgsql(text, text.includes("query") ? "setof int" : "int")))
})
