import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { describe } from "vitest"
import { type Actor } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, get, patch, post, refusal, remove, rpc, service, user } from "../../support/requests.ts"

/** The session state that one caller could leave changed for the next. */
const state = `create function state() returns jsonb language plpgsql as $body$
  declare last bigint; holds text[];
  begin
    begin last = lastval(); exception when others then last = null; end;
    return jsonb_build_object(
      'user', current_user, 'session', session_user, 'role', current_setting('role'),
      'claims', current_setting('request.jwt.claims'), 'sub', current_setting('request.jwt.sub'),
      'settings', (select jsonb_object_agg(name, setting) from pg_settings
                     where name in ('search_path', 'TimeZone', 'statement_timeout', 'DateStyle', 'work_mem',
                       'default_transaction_read_only', 'default_transaction_isolation', 'lock_timeout', 'row_security')),
      'own', coalesce(current_setting('leak.x', true), ''),
      'temporary', (select coalesce(jsonb_agg(relname), '[]') from pg_class where relnamespace = pg_my_temp_schema()),
      'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
      'channels', (select coalesce(jsonb_agg(c), '[]') from pg_listening_channels() c),
      'cursors', (select coalesce(jsonb_agg(name), '[]') from pg_cursors where is_holdable),
      'last', last);
  end $body$;`

/** Session state that user code may leave; each is shown to persist without a reset. */
const dirt = [
  "select set_config('request.jwt.claims', 'stale', false), set_config('request.jwt.sub', 'stale', false)",
  "select set_config('leak.x', 'stale', false)",
  "select set_config('role', 'authenticated', false)",
  "set role authenticated",
  "reset role",
  "set role none",
  "set session authorization default",
  "set search_path = pg_temp, pg_catalog, public",
  "set timezone = 'Asia/Tokyo'",
  "set datestyle = 'German'",
  "set statement_timeout = 77000",
  "set lock_timeout = 1",
  "set default_transaction_read_only = on",
  "set session characteristics as transaction isolation level serializable",
  "set row_security = off",
  "set work_mem = '64kB'",
  "create temporary table leaked (a int)",
  "create temporary sequence leaked",
  "select pg_advisory_lock(1)",
  "select pg_advisory_lock_shared(2)",
  "listen leaked",
  "declare leaked cursor with hold for select 1",
  "select nextval('counting')"
]
/** Not allowed in the READ ONLY transaction that a read runs in. */
const onlyWhenWriting = /^(create|listen|select nextval)/

const suite = layer(
  layerDatabase({
    name: "callers",
    settings: { SVC_DB_POOL_SIZE: "1", SVC_DB_TIMEOUT: "1s" },
    before: `
      grant create, usage on schema public to anon, authenticated;
      create sequence counting;
      create table dirt (n int primary key, statement text);
      ${state}
      create function pid() returns int language sql as 'select pg_backend_pid()';
      create function dirty(statement text) returns int language plpgsql as
        $$ begin execute statement; return 1; end $$;
      create function dirty_and_fail(statement text) returns int language plpgsql as
        $$ begin execute statement; raise exception 'no'; end $$;
      create function dirty_and_wait(statement text) returns int language plpgsql as
        $$ begin execute statement; perform pg_sleep(60); return 1; end $$;
      create view dirty_view as select dirty(statement) as done from dirt where n = 0;
      create table dirty_policy (v int);
      insert into dirty_policy values (1);
      alter table dirty_policy enable row level security;
      create policy p on dirty_policy using (dirty((select statement from dirt where n = 0)) = 1);
      create function dirty_now() returns int language sql as 'select dirty(statement) from dirt where n = 0';
      create table dirty_default (id int generated always as identity, v int default dirty_now(), w int);
      create table dirty_check (v int check (dirty_now() = v));
      create table dirty_trigger (v int);
      create function dirty_row() returns trigger language plpgsql as $$ begin perform dirty_now(); return coalesce(new, old); end $$;
      create trigger t before insert or update or delete on dirty_trigger for each row execute function dirty_row();
      create table owned (owner text default current_setting('request.jwt.sub'), v int);
      alter table owned enable row level security;
      create policy p on owned using (owner = current_setting('request.jwt.sub'));
      insert into owned values ('ann', 1), ('bob', 2), ('', 3);
      create table mine (id int generated always as identity, owner text default current_setting('request.jwt.sub'));
      create function who(first text) returns text language plpgsql as $$ begin execute first; return current_user; end $$;
      create function peek() returns bigint language plpgsql as $$ begin execute 'reset role; set role none'; return (select count(*) from dirty_policy); end $$;
      grant all on all tables in schema public to anon, authenticated;
      grant all on all sequences in schema public to anon, authenticated;
      grant execute on all functions in schema public to anon, authenticated;`
  }),
  live
)

const [ann, bob] = [user("ann"), user("bob")]
const claiming: Actor = { ...user("cy"), role: "service_role" }
/** The order of callers on one connection. */
const pairs: ReadonlyArray<readonly [Actor, Actor]> = [
  [anon, anon],
  [ann, bob],
  [service, service],
  [claiming, service]
]
const stateOf = (actor: Actor) => rpc("state", {}, { actor })
const pidOf = (actor: Actor) => rpc("pid", {}, { actor })

/** The places where a request runs user code. */
const ways: Readonly<Record<string, (statement: string, actor: Actor) => Effect.Effect<unknown, unknown, Needs>>> = {
  "a function": (statement, actor) => rpc("dirty", { statement }, { actor }),
  "a function that fails": (statement, actor) => Effect.exit(rpc("dirty_and_fail", { statement }, { actor })),
  "a function that takes too long": (statement, actor) => Effect.exit(rpc("dirty_and_wait", { statement }, { actor })),
  "a view": (_, actor) => get("dirty_view", { actor }),
  "a policy": (_, actor) => get("dirty_policy", { actor }),
  "a default": (_, actor) => post("dirty_default?select=id", { w: 1 }, { actor }),
  "a check": (_, actor) => post("dirty_check", { v: 1 }, { actor }),
  "a trigger on insert": (_, actor) => post("dirty_trigger", { v: 1 }, { actor }),
  "a trigger on update": (_, actor) => patch("dirty_trigger?v=not.is.null", { v: 2 }, { actor }),
  "a trigger on delete": (_, actor) => remove("dirty_trigger?v=not.is.null", { actor })
}
type Needs = Effect.Services<ReturnType<typeof get>> | Effect.Services<ReturnType<typeof rpc>>

const stored = (statement: string) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    yield* sql("insert into dirt values (0, $1) on conflict (n) do update set statement = $1", [statement])
    // With triggers disabled, because the trigger would run the statement here.
    yield* sql(
      "set session_replication_role = replica; truncate dirty_trigger; insert into dirty_trigger values (1); reset all"
    )
  })

suite("callers on one connection", (it) => {
  it.effect("every kind of leftover state is detected by the test", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      for (const statement of dirt) {
        yield* sql("discard all")
        yield* sql("select set_config('request.jwt.claims', '', false), set_config('request.jwt.sub', '', false)")
        yield* sql("set role anon")
        const [before] = yield* sql("select state()")
        yield* sql("select dirty($1)", [statement])
        const [after] = yield* sql("select public.state()")
        assert.notDeepEqual(after, before, statement)
      }
      yield* sql("discard all")
    })
  )

  describe("never see state left by", () => {
    it.effect.each(Object.keys(ways))("%s", (way) =>
      Effect.gen(function* () {
        const run = ways[way] ?? (() => Effect.void)
        for (const [first, second] of pairs) {
          const fresh = yield* stateOf(second)
          const claims = second.claims || `{"role":"${second.role}"}`
          assert.deepInclude(fresh, { claims, sub: second.sub, own: "", locks: 0 })
          // A function runs all statements, each other way a part of them.
          const every = way === "a function" ? 1 : way.includes("long") ? 11 : 4
          for (const statement of dirt.filter((_, n) => (n + way.length) % every === 0)) {
            const reading = way === "a view" || way === "a policy"
            if (reading && onlyWhenWriting.test(statement)) continue
            yield* stored(statement)
            const pid = yield* pidOf(second)
            const outcome = yield* Effect.exit(run(statement, first))
            // The statement must have run. Only those that cost the owner its rights may fail.
            if (!/role|row_security|read_only/.test(statement))
              assert.strictEqual(outcome._tag, "Success", `${way}: ${statement}`)
            assert.deepStrictEqual(
              yield* stateOf(second),
              fresh,
              `${way}, ${first.role} then ${second.role}: ${statement}`
            )
            assert.strictEqual(yield* pidOf(second), pid, "the same connection")
          }
        }
      })
    )

    it.effect("a caller that disconnected", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        for (const [first, second] of pairs) {
          const fresh = yield* stateOf(second)
          for (const statement of dirt.filter((_, n) => n % 5 === 0)) {
            const fiber = yield* Effect.forkChild(rpc("dirty_and_wait", { statement }, { actor: first }))
            const waiting = sql(
              "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
            )
            yield* Effect.repeat(waiting, {
              until: (rows) => rows.length > 0,
              schedule: Schedule.spaced("2 millis"),
              times: 500
            })
            yield* Fiber.interrupt(fiber)
            assert.deepStrictEqual(yield* stateOf(second), fresh, statement)
            assert.deepStrictEqual(yield* waiting, [])
          }
        }
      })
    )
  })

  it.effect("work after one of them deallocates the prepared statements", () =>
    Effect.gen(function* () {
      for (const [first, second] of pairs) {
        for (const statement of ["deallocate all", "discard plans", "prepare leaked as select 1"]) {
          for (let i = 0; i < 3; i++) yield* get("owned?v=eq.1", { actor: second })
          // What was prepared to follow the first such statement is gone, so it is rolled back.
          yield* Effect.catchIf(
            rpc("dirty", { statement }, { actor: first }),
            ({ code }) => code === "EXECUTION_IN_DOUBT" && statement === "deallocate all",
            () => Effect.void
          )
          const seen = second.role === "service_role" ? [{ v: 1 }] : []
          assert.deepStrictEqual(yield* get("owned?v=eq.1&select=v", { actor: second }), seen)
          yield* Effect.exit(rpc("dirty", { statement: "deallocate leaked" }, { actor: second }))
        }
      }
    })
  )

  it.effect("don't see the last sequence value of another caller", () =>
    Effect.gen(function* () {
      yield* post("mine", {}, { actor: ann })
      const { last } = (yield* stateOf(bob)) as { readonly last: unknown }
      assert.isNull(last)
    })
  )

  it.effect("don't see the prepared statements of another caller", () =>
    Effect.gen(function* () {
      yield* rpc("dirty", { statement: "prepare leaked as select 1" }, { actor: ann })
      assert.strictEqual(yield* refusal(rpc("dirty", { statement: "execute leaked" }, { actor: bob })), "400 26000")
    })
  )

  it.effect("have their own claims in any order", () =>
    Effect.gen(function* () {
      const rowsOf = (actor: Actor) =>
        Effect.map(get("owned?select=v&order=v", { actor }), (rows) => rows.map((row) => row["v"]).join())
      const expected = new Map([
        [ann, "1"],
        [bob, "2"],
        [anon, "3"],
        [service, "1,2,3"],
        [claiming, "1,2,3"]
      ])
      const actors = [...expected.keys()]
      const order = Array.from({ length: 200 }, (_, n) => actors[(n * 7 + Math.floor(n / 5)) % 5] ?? anon)
      const check = (actor: Actor, n: number): Effect.Effect<boolean, unknown, Needs> => {
        if (n % 11 === 3) return Effect.map(refusal(get("owned?v=eq.x", { actor })), () => true)
        if (n % 11 === 7) return Effect.map(rpc("dirty", { statement: dirt[n % 6] }, { actor }), () => true)
        if (n % 11 === 9)
          return Effect.map(post("mine?select=owner", {}, { actor }), ([row]) => row?.["owner"] === actor.sub)
        return Effect.map(rowsOf(actor), (seen) => seen === expected.get(actor))
      }
      const outcomes = yield* Effect.forEach(order, check, { concurrency: 8 })
      assert.isTrue(outcomes.every(Boolean))
      for (const [n, actor] of order.slice(0, 60).entries()) assert.isTrue(yield* check(actor, n))
    })
  )

  it.effect("keep their role even if a function changes roles", () =>
    Effect.gen(function* () {
      const who = (first: string, actor: Actor) => Effect.result(rpc("who", { first }, { actor }))
      for (const first of [
        "reset role",
        "select set_config('role', 'anon', false)",
        "reset all",
        "set session authorization default; reset role"
      ]) {
        const found = yield* who(first, anon)
        assert.strictEqual(found._tag === "Success" ? found.success : found.failure.code, "anon", first)
      }
      assert.deepInclude(yield* who("reset role", ann), { success: "authenticated" })
      for (const role of ["postgres", "pg_read_all_data", "pg_monitor"]) {
        for (const actor of [anon, ann]) {
          const status = actor === anon ? "401" : "403"
          assert.strictEqual(yield* refusal(rpc("who", { first: `set role ${role}` }, { actor })), `${status} 42501`)
          assert.strictEqual(
            yield* refusal(rpc("who", { first: `set session authorization ${role}` }, { actor })),
            `${status} 42501`
          )
        }
      }
      // The login behind both has no rights of its own.
      assert.match(String(yield* rpc("who", { first: "set role none" }, { actor: anon })), /^svc_authenticator/)
      assert.strictEqual(yield* refusal(rpc("peek", {}, { actor: anon })), "401 42501")
    })
  )
})
