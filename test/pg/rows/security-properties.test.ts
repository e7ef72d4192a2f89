import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import { type Actor } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { holds, sqlText } from "../../support/properties.ts"
import { anon, type As, get, patch, post, remove, service } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "row_security",
    before: `
      create table teams (id int primary key, name text, open boolean);
      create table members (team int references teams, sub text, level int, primary key (team, sub));
      create table notes (id int primary key default 99, team int references teams, owner text, body text, secret text);
      create table marks (note int references notes on delete cascade, mark text, primary key (note, mark));
      insert into teams values (1, 'one', true), (2, 'two', false), (3, 'three', false), (4, null, null);
      insert into members values (1, 'ann', 1), (2, 'ann', 2), (2, 'bob', 1), (3, 'bob', 2), (4, 'it''s', 1);
      insert into notes select i, nullif(i % 5, 0), (array['ann', 'bob', 'it''s', null, ''])[1 + i % 5], 'body ' || i, 'secret ' || i
        from generate_series(1, 30) i;
      insert into marks select i, m from generate_series(1, 30) i, unnest(array['a', 'b']) m where i % 2 = 0 or m = 'a';

      -- Policies of built-in functions, one that reads another table under its own policy, one that calls a function.
      alter table teams enable row level security;
      create policy seen on teams for select using (open or exists (select from members where team = teams.id));
      alter table members enable row level security;
      create policy own on members to authenticated using (sub = current_setting('request.jwt.sub', true));
      create function level() returns int language plpgsql stable as
        $$ begin return (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'level')::int; end $$;
      alter table notes enable row level security;
      create policy seen on notes for select
        using (owner = current_setting('request.jwt.sub', true) or team in (select id from teams));
      create policy made on notes for insert to authenticated with check (owner = current_setting('request.jwt.sub', true));
      create policy changed on notes for update to authenticated
        using (owner = current_setting('request.jwt.sub', true))
        with check (owner = current_setting('request.jwt.sub', true) and team is distinct from 3);
      create policy removed on notes for delete to authenticated using (id % 2 = 0);
      alter table marks enable row level security;
      create policy leveled on marks using (level() >= 2 or mark = 'a') with check (level() >= 2);

      create view all_notes as select id, owner, body from notes;
      create view own_notes with (security_invoker) as select id, team, owner, body from notes;
      create function body_length(notes) returns int language sql stable as $$ select length($1.body) $$;
      create function siblings(notes) returns setof notes language sql stable as $$ select * from notes n where n.team = $1.team $$;
      grant all on all tables in schema public to authenticated;
      grant select on teams, marks, all_notes, own_notes to anon;
      revoke all on notes, members from anon;
      grant select (id, team, owner, body), insert (team, owner, body) on notes to anon;
      grant delete on notes to anon;`
  }),
  live
)

const signedIn = (sub: string, level?: number): Actor => ({
  role: "authenticated",
  claims: JSON.stringify({ sub, level }),
  sub
})
const actor = fc.oneof(
  fc.constant(anon),
  fc.constant(service),
  fc
    .tuple(fc.constantFrom("ann", "bob", "it's", "", "nobody"), fc.constantFrom(undefined, 1, 2))
    .map(([sub, level]) => signedIn(sub, level))
)
const owner = fc.constantFrom("ann", "bob", "it's", "", "x")
const number = fc.integer({ min: 0, max: 31 })

const outcome = <A, E extends { readonly code?: unknown }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.result(effect), (result): unknown =>
    Result.isSuccess(result) ? result.success : { refused: result.failure.code }
  )

/** Runs the statement in plain SQL as the actor and rolls it back; returns its rows as one JSON array. */
const asRole = ({ role, claims, sub }: Actor, statement: string) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    yield* sql("begin")
    const name = role === "service_role" ? "postgres" : role
    yield* sql(`set local role ${name}`)
    yield* sql("select set_config('request.jwt.claims', $1, true), set_config('request.jwt.sub', $2, true)", [
      claims,
      sub
    ])
    const answer = yield* outcome(
      Effect.catchDefect(
        sql(`with asked as (${statement}) select coalesce(json_agg(asked), '[]') as rows from asked`),
        (cause) => Effect.fail((cause as { readonly cause: { readonly code?: unknown } }).cause)
      ).pipe(Effect.map(([row]) => row?.["rows"]))
    )
    yield* sql("rollback")
    return answer
  })

/** Requests, and the equivalent SQL. */
const reads: fc.Arbitrary<readonly [line: string, statement: string]> = fc.tuple(owner, number).chain(([who, n]) => {
  const [text, name] = [encodeURIComponent(who), sqlText(who)]
  const marks =
    "(select coalesce(json_agg(json_build_object('mark', mark) order by mark), '[]') from marks where note = n.id)"
  const team = "(select json_build_object('name', name) from teams t where t.id = n.team)"
  return fc.constantFrom<readonly [string, string]>(
    [`notes?select=id,body&owner=eq.${text}&order=id`, `select id, body from notes where owner = ${name} order by id`],
    [`notes?id=gt.${n}&order=id`, `select * from notes where id > ${n} order by id`],
    [`notes?select=id&secret=eq.x`, `select id from notes where secret = 'x'`],
    [`notes?select=id&order=secret`, `select id from notes order by secret`],
    [
      `notes?select=id,marks(mark),teams(name)&id=lte.${n}&order=id&marks.order=mark`,
      `select id, ${marks} as marks, ${team} as teams from notes n where id <= ${n} order by id`
    ],
    [
      `notes?select=id,teams!inner(name)&order=id.desc&limit=${n}`,
      `select id, ${team} as teams from notes n where ${team} is not null order by id desc limit ${n}`
    ],
    [`notes?select=id,teams()&teams=is.null&order=id`, `select id from notes n where ${team} is null order by id`],
    [
      `teams?select=id,notes(id,marks(mark))&order=id&notes.order=id&notes.marks.order=mark&notes.owner=eq.${text}`,
      `select id, (select coalesce(json_agg(json_build_object('id', n.id, 'marks', ${marks}) order by n.id), '[]')
         from notes n where n.team = t.id and n.owner = ${name}) as notes from teams t order by id`
    ],
    [
      "teams?select=id,...members(subs:sub)&order=id&members.order=sub",
      "select id, (select coalesce(json_agg(sub order by sub), '[]') from members where team = t.id) as subs from teams t order by id"
    ],
    ["members?order=team,sub", "select * from members order by team, sub"],
    [`all_notes?order=id&id=lt.${n}`, `select * from all_notes where id < ${n} order by id`],
    [`own_notes?order=id&id=lt.${n}`, `select * from own_notes where id < ${n} order by id`],
    [
      `own_notes?select=id,teams(name)&order=id&id=lt.${n}`,
      `select id, ${team} as teams from own_notes n where id < ${n} order by id`
    ],
    [`notes?select=id,body_length&id=eq.${n}`, `select id, body_length(notes) from notes where id = ${n}`],
    [
      `notes?select=id,siblings(id)&id=eq.${n}&siblings.order=id`,
      `select id, (select coalesce(json_agg(json_build_object('id', s.id) order by s.id), '[]') from siblings(n) s) as siblings
         from notes n where id = ${n}`
    ],
    ["marks?order=note,mark", "select * from marks order by note, mark"]
  )
})

type Write = readonly [ask: (as: As) => ReturnType<typeof get>, statement: string]
const writes: fc.Arbitrary<Write> = fc.tuple(owner, number).chain(([who, n]) => {
  const [text, name] = [encodeURIComponent(who), sqlText(who)]
  const id = n + 100
  return fc.constantFrom<Write>(
    [
      (as) => post("notes?select=id,owner", { id, owner: who }, as),
      `insert into notes (id, owner) values (${id}, ${name}) returning id, owner`
    ],
    [
      (as) => post("notes", { id, owner: who, team: 1 }, as),
      `insert into notes (id, owner, team) values (${id}, ${name}, 1) returning *`
    ],
    [
      (as) => post("notes?select=body", { owner: who, team: n, body: "b" }, as),
      `insert into notes (owner, team, body) values (${name}, ${n}, 'b') returning body`
    ],
    [
      (as) =>
        post(
          "notes?select=id,body",
          { id: n, owner: who, body: "new" },
          { ...as, prefer: { ...as.prefer, resolution: "merge-duplicates" } }
        ),
      `insert into notes (id, owner, body) values (${n}, ${name}, 'new')
         on conflict (id) do update set id = excluded.id, owner = excluded.owner, body = excluded.body returning id, body`
    ],
    [
      (as) =>
        post(
          "notes?select=id",
          { id: n, owner: who },
          { ...as, prefer: { ...as.prefer, resolution: "ignore-duplicates" } }
        ),
      `insert into notes (id, owner) values (${n}, ${name}) on conflict (id) do nothing returning id`
    ],
    [
      (as) => patch(`notes?select=id,body&id=lt.${n}&order=id`, { body: "new" }, as),
      `update notes set body = 'new' where id < ${n} returning id, body`
    ],
    [
      (as) => patch(`notes?select=id&owner=eq.${text}`, { team: (n % 4) + 1 }, as),
      `update notes set team = ${(n % 4) + 1} where owner = ${name} returning id`
    ],
    [
      (as) => patch(`notes?select=id&id=eq.${n}`, { owner: who }, as),
      `update notes set owner = ${name} where id = ${n} returning id`
    ],
    [
      (as) => patch(`own_notes?select=id&id=eq.${n}`, { body: who }, as),
      `update own_notes set body = ${name} where id = ${n} returning id`
    ],
    [(as) => remove(`notes?select=id&id=gte.${n}`, as), `delete from notes where id >= ${n} returning id`],
    [
      (as) => remove(`notes?select=id,body&owner=eq.${text}`, as),
      `delete from notes where owner = ${name} returning id, body`
    ],
    [(as) => remove("marks?mark=eq.a", as), "delete from marks where mark = 'a' returning *"],
    [(as) => post("marks", { note: n, mark: "c" }, as), `insert into marks values (${n}, 'c') returning *`],
    [
      (as) => post("marks?select=mark,notes(id,owner,teams(name))", { note: 2, mark: "d" }, as),
      `insert into marks values (2, 'd') returning mark, (select json_build_object('id', id, 'owner', owner, 'teams',
         (select json_build_object('name', name) from teams where id = team)) from notes where id = note) as notes`
    ]
  )
})

const sorted = (found: unknown) => (Array.isArray(found) ? found.map((row) => JSON.stringify(row)).toSorted() : found)

suite("row-level security", (it) => {
  it.effect("applies to reads as after SET ROLE, also to embedded rows", () =>
    holds(fc.tuple(actor, reads), ([actor, [line, statement]]) =>
      Effect.gen(function* () {
        const expected = yield* asRole(actor, statement)
        assert.deepStrictEqual(yield* outcome(get(line, { actor })), expected)
        // The same query shape for another caller.
        assert.deepStrictEqual(
          yield* outcome(get(line, { actor: signedIn("nobody") })),
          yield* asRole(signedIn("nobody"), statement)
        )
        assert.deepStrictEqual(yield* outcome(get(line, { actor })), expected)
      })
    )
  )

  it.effect("applies to writes as after SET ROLE", () =>
    holds(fc.tuple(actor, writes), ([actor, [ask, statement]]) =>
      Effect.gen(function* () {
        const expected = yield* asRole(actor, statement)
        const written = yield* outcome(ask({ actor, prefer: { tx: "rollback" } }))
        assert.deepStrictEqual(sorted(written), sorted(expected), statement)
      })
    )
  )
})
