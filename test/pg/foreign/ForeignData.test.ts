import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createServer } from "node:net"
import { ForeignData } from "../../../src/services/foreign/ForeignData.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { SqlRunner } from "../../../src/services/sql/SqlRunner.ts"
import { live } from "../../support/database.ts"
import {
  here,
  importAll,
  layerForeignData,
  listed,
  makeServer,
  mapUser,
  Other,
  there
} from "../../support/foreign/servers.ts"
import { anon, get, patch, post, refusal, remove, service } from "../../support/requests.ts"

layer(Layer.provideMerge(SqlRunner.layer, layerForeignData("foreign_data")), live)("foreign data", (it) => {
  it.effect("are empty at first", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* listed, { wrappers: [], foreignTables: [] })
    })
  )

  it.effect("are dropped with their mappings; tables only on request", () =>
    Effect.gen(function* () {
      const { removeMapping, removeServer } = yield* ForeignData
      const name = `to "drop"/ü`
      yield* there("create schema dropped; create table dropped.t (id int); create table dropped.u (id int)")
      yield* makeServer({ name })
      yield* mapUser(name)
      yield* mapUser(name, { local_user: "PUBLIC" })
      yield* mapUser(name, { local_user: "anon" })
      yield* importAll(name, "dropped", "dropped_here")
      yield* here("create view dropped_here.v as select * from dropped_here.t")

      yield* removeMapping(name, "anon")
      const missing = yield* Effect.flip(removeMapping(name, "anon"))
      assert.deepInclude(missing, { status: 404, code: "USER_MAPPING_NOT_FOUND" })
      yield* removeMapping(name, "Public")
      assert.deepStrictEqual(
        (yield* listed).wrappers.map(({ user_mappings }) => user_mappings),
        [["postgres"]]
      )
      const refused = yield* Effect.flip(removeServer(name, false))
      assert.deepInclude(refused, { status: 409, code: "FOREIGN_SERVER_IN_USE" })
      assert.match(refused.error, /dropped_here\.t, dropped_here\.u$/)
      // Nothing is half done.
      yield* mapUser(name, { local_user: "anon" })
      assert.lengthOf((yield* listed).foreignTables, 2)
      yield* removeServer(name, true)
      assert.deepStrictEqual(yield* listed, { wrappers: [], foreignTables: [] })
      for (const gone of [removeServer(name, true), removeMapping(name, "anon"), removeServer("", false)]) {
        assert.deepInclude(yield* Effect.flip(gone), { status: 404, code: "FOREIGN_SERVER_NOT_FOUND" })
      }
      yield* makeServer({ name })
      yield* removeServer(name, false)
    })
  )

  it.effect("are imported, then read and written through /v1/sql and /v1/db", () =>
    Effect.gen(function* () {
      yield* there(`create schema shop; create type shop.size as enum ('s', 'm');
        create table shop.items (id int primary key, name text not null, price numeric(10, 2));
        create table shop."odd ""name" ("a b" text, at timestamptz);
        create view shop.cheap as select * from shop.items where price < 5;
        insert into shop.items values (1, 'ä', 1.50), (2, 'b', 9.99)`)
      const server = yield* makeServer({ name: "shop" })
      const { port } = yield* Other
      assert.deepStrictEqual(server, {
        server_name: "shop",
        fdw_name: "postgres_fdw",
        handler: "postgres_fdw_handler",
        validator: "postgres_fdw_validator",
        server_options: ["host=127.0.0.1", `port=${port}`, "dbname=postgres", "connect_timeout=5"],
        user_mappings: []
      })
      assert.deepStrictEqual(yield* mapUser("shop"), {
        server: "shop",
        local_user: "postgres",
        remote_user: "postgres"
      })
      const imported = yield* importAll("shop", "shop", "public")
      const tables = [
        {
          schema: "public",
          table_name: "cheap",
          server_name: "shop",
          columns: ["id integer", "name text", "price numeric(10,2)"]
        },
        {
          schema: "public",
          table_name: "items",
          server_name: "shop",
          columns: ["id integer", "name text", "price numeric(10,2)"]
        },
        {
          schema: "public",
          table_name: 'odd "name',
          server_name: "shop",
          columns: ["a b text", "at timestamp with time zone"]
        }
      ]
      assert.deepStrictEqual(imported, {
        server: "shop",
        remote_schema: "shop",
        local_schema: "public",
        foreignTables: tables
      })
      assert.deepStrictEqual(yield* listed, {
        wrappers: [{ ...server, user_mappings: ["postgres"] }],
        foreignTables: tables
      })

      const runner = yield* SqlRunner
      const { main } = yield* Db
      const { json } = yield* runner.run(main, service, { sql: "select name, price from items order by id" })
      assert.deepStrictEqual(JSON.parse(json).rows, [
        { name: "ä", price: "1.50" },
        { name: "b", price: "9.99" }
      ])
      assert.deepStrictEqual(yield* get("items?price=lt.5"), [{ id: 1, name: "ä", price: 1.5 }])
      yield* post("items", { id: 3, name: "c", price: 3 })
      yield* patch("items?id=eq.3", { name: "d" })
      yield* remove("items?id=eq.1")
      assert.deepStrictEqual(yield* there("select id, name from shop.items order by id"), [
        { id: 2, name: "b" },
        { id: 3, name: "d" }
      ])
      assert.deepStrictEqual(yield* get("odd%20%22name"), [])
    })
  )

  it.effect("are closed to anon, though other new tables are open to it", () =>
    Effect.gen(function* () {
      yield* mapUser("shop", { local_user: "Public" })
      yield* here("create table open (id int)")
      assert.deepStrictEqual(yield* get("open", { actor: anon }), [])
      assert.strictEqual(yield* refusal(get("items", { actor: anon })), "401 42501")
      yield* here("grant select on items to anon")
      assert.lengthOf(yield* get("items", { actor: anon }), 2)
    })
  )

  it.effect("are imported into a schema that is created if missing, but not into a system schema", () =>
    Effect.gen(function* () {
      const imported = yield* importAll("shop", "shop", 'Far "away')
      assert.lengthOf(imported.foreignTables, 3)
      assert.lengthOf(yield* here(`select from "Far ""away".items`), 2)
      yield* there("create schema bare")
      assert.deepStrictEqual((yield* importAll("shop", "bare", "fresh")).foreignTables, [])
      for (const name of ["svc", "pg_catalog", "pg_new", "information_schema"]) {
        assert.strictEqual(yield* refusal(importAll("shop", "shop", name)), "400 INVALID_REQUEST", name)
      }
    })
  )

  it.effect("are rejected if the name exists: 409, without partial changes", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refusal(makeServer({ name: "shop" })), "409 FOREIGN_SERVER_EXISTS")
      assert.strictEqual(yield* refusal(mapUser("shop")), "409 USER_MAPPING_EXISTS")
      assert.strictEqual(yield* refusal(mapUser("shop", { local_user: "PUBLIC" })), "409 USER_MAPPING_EXISTS")
      yield* here("create schema half; create table half.items (mine text)")
      const before = yield* listed
      assert.strictEqual(yield* refusal(importAll("shop", "shop", "half")), "409 FOREIGN_TABLE_EXISTS")
      assert.deepStrictEqual(yield* listed, before)
      yield* there("create schema typed; create table typed.a (id int); create table typed.b (size shop.size)")
      assert.strictEqual(yield* refusal(importAll("shop", "typed", "typed_here")), "400 3F000")
      assert.deepStrictEqual(yield* listed, before)
      assert.lengthOf(yield* here("select from pg_namespace where nspname = 'typed_here'"), 0)
    })
  )

  it.effect("are created once by concurrent requests", () =>
    Effect.gen(function* () {
      const twice = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.map(Effect.all([effect, effect], { concurrency: 2 }), (both) => both.map(String).sort())
      assert.deepStrictEqual(yield* twice(refusal(makeServer({ name: "twins" }))), ["200", "409 FOREIGN_SERVER_EXISTS"])
      assert.deepStrictEqual(yield* twice(refusal(mapUser("twins"))), ["200", "409 USER_MAPPING_EXISTS"])
      assert.deepStrictEqual(yield* twice(refusal(importAll("twins", "shop", "twin_tables"))), [
        "200",
        "409 FOREIGN_TABLE_EXISTS"
      ])
    })
  )

  it.effect("reject missing wrappers, servers, roles, mappings and schemas: 404", () =>
    Effect.gen(function* () {
      yield* makeServer({ name: "lonely" })
      const found = yield* Effect.all([
        refusal(makeServer({ name: "x", fdw_name: "oracle_fdw" })),
        refusal(mapUser("nowhere")),
        refusal(mapUser("lonely", { local_user: "nobody" })),
        refusal(importAll("nowhere", "shop", "x")),
        refusal(importAll("lonely", "shop", "x")),
        refusal(importAll("shop", "no such", "x"))
      ])
      assert.deepStrictEqual(found, [
        "404 FOREIGN_WRAPPER_NOT_FOUND",
        "404 FOREIGN_SERVER_NOT_FOUND",
        "404 ROLE_NOT_FOUND",
        "404 FOREIGN_SERVER_NOT_FOUND",
        "404 USER_MAPPING_NOT_FOUND",
        "404 FOREIGN_SCHEMA_NOT_FOUND"
      ])
    })
  )

  it.effect("of a wrapper without a host option are rejected with PostgreSQL's message", () =>
    Effect.gen(function* () {
      yield* here("create extension file_fdw")
      const error = yield* Effect.flip(makeServer({ name: "files", fdw_name: "file_fdw" }))
      assert.deepStrictEqual([error.status, error.code], [400, "HV00D"])
    })
  )

  it.effect("of an unreachable server: 502 within 10 s", () =>
    Effect.gen(function* () {
      const silent = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createServer((socket) => void socket.on("error", () => undefined))
          await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const port = String((silent.address() as { readonly port: number }).port)
      const cases = [
        { name: "closed", port: "1" },
        { name: "silent", port },
        { name: "nameless", host: "no-such-host.invalid" }
      ]
      for (const given of cases) {
        yield* makeServer(given)
        yield* mapUser(given.name)
        const from = Date.now()
        assert.strictEqual(
          yield* refusal(importAll(given.name, "shop", "x")),
          "502 FOREIGN_SERVER_UNREACHABLE",
          given.name
        )
        assert.isBelow(Date.now() - from, 10_000, given.name)
      }
      // A server that was created by SQL, without a connection timeout.
      yield* here(`create server patient foreign data wrapper postgres_fdw options (host '127.0.0.1', port '${port}')`)
      yield* mapUser("patient")
      const from = Date.now()
      assert.strictEqual(yield* refusal(importAll("patient", "shop", "x")), "502 FOREIGN_SERVER_UNREACHABLE")
      assert.isBelow(Date.now() - from, 10_000)
    })
  )

  it.effect("with a wrong password, user or database are rejected without revealing the password", () =>
    Effect.gen(function* () {
      for (const [name, given, dbname] of [
        ["password", { remote_password: "wrong-s3cret" }, "postgres"],
        ["user", { remote_user: "no_such_user", remote_password: "wrong-s3cret" }, "postgres"],
        ["database", {}, "no_such_database"]
      ] as const) {
        yield* makeServer({ name: `wrong_${name}`, dbname })
        yield* mapUser(`wrong_${name}`, given)
        const error = yield* Effect.flip(importAll(`wrong_${name}`, "shop", "x"))
        assert.deepStrictEqual([error.status, error.code], [400, "FOREIGN_LOGIN_REFUSED"], name)
        assert.match(String(error.details), name === "database" ? /no_such_database/ : /password authentication failed/)
        assert.notInclude(JSON.stringify(error), "s3cret")
      }
    })
  )
})
