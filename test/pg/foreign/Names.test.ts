import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
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
import { refusal } from "../../support/requests.ts"

/** Texts whose meaning changes unless they are quoted correctly. */
const nasty = [
  `a'b`,
  `a''; drop schema public cascade; --`,
  `a', host 'evil.example.com`,
  `a=b`,
  `host=evil.example.com port=1`,
  `a\nb\r\tc`,
  `a\\'b\\`,
  `\\`,
  `"`,
  `a"b`,
  `a$svc$b`,
  `$1`,
  `%s %I`,
  `{a,b}`,
  `ä 🎉`,
  ` `,
  `CURRENT_USER_`,
  `x`.repeat(63)
]

const options = (table: string, column: string, name: string) =>
  Effect.map(
    here(`select ${column} as options from ${table} where srvname = $1::text`, [name]),
    ([row]) => row?.["options"] as ReadonlyArray<string>
  )

layer(layerForeignData("foreign_names"), live)("names and values of foreign data", (it) => {
  it.effect("are used literally: servers, options, users, passwords, roles", () =>
    Effect.gen(function* () {
      const { port } = yield* Other
      for (const text of nasty) {
        yield* makeServer({ name: text, dbname: text })
        yield* here(`create role "${text.replaceAll('"', '""')}"`)
        try {
          yield* mapUser(text, { local_user: text, remote_user: text, remote_password: text })
          assert.deepStrictEqual(
            yield* options("pg_foreign_server", "srvoptions", text),
            ["host=127.0.0.1", `port=${port}`, `dbname=${text}`, "connect_timeout=5"],
            text
          )
          assert.deepStrictEqual(yield* options("pg_user_mappings", "umoptions", text), [
            `user=${text}`,
            `password=${text}`
          ])
          const { wrappers } = yield* listed
          const found = wrappers.find(({ server_name }) => server_name === text)
          assert.deepStrictEqual(found?.user_mappings, [text])
        } finally {
          const name = `"${text.replaceAll('"', '""')}"`
          yield* here(`drop server ${name} cascade`)
          // Another test may close a database of this server, which gives rights to all roles, until it is dropped.
          yield* Effect.retry(here(`drop role ${name}`), { schedule: Schedule.spaced("200 millis"), times: 100 })
        }
      }
      assert.lengthOf(yield* here("select from pg_namespace where nspname = 'public'"), 1)
    })
  )

  it.effect("reach the other server unchanged", () =>
    Effect.gen(function* () {
      const [name, quoted] = [`a'b"c = d\n\\e`, `"a'b""c = d\n\\e"`]
      yield* there(`create role ${quoted} login password 'p=w''q\\"z'`)
      yield* there(`create database ${quoted} owner ${quoted}`)
      yield* makeServer({ name, dbname: name })
      yield* mapUser(name, { remote_user: name, remote_password: `p=w'q\\"z` })
      // The schema information_schema exists in every database.
      const { foreignTables } = yield* importAll(name, "information_schema", name)
      assert.isAbove(foreignTables.length, 50)
      assert.deepStrictEqual(yield* here(`select catalog_name as c from ${quoted}.information_schema_catalog_name`), [
        { c: name }
      ])
      assert.strictEqual(
        yield* refusal(importAll(name, `x"; drop schema public; --`, name)),
        "404 FOREIGN_SCHEMA_NOT_FOUND"
      )
    })
  )

  it.effect("are roles, except current_user and PUBLIC in any case", () =>
    Effect.gen(function* () {
      for (const [given, shown] of [
        ["CURRENT_USER", "postgres"],
        ["public", "PUBLIC"]
      ] as const) {
        yield* makeServer({ name: `to_${given}` })
        assert.strictEqual((yield* mapUser(`to_${given}`, { local_user: given })).local_user, shown)
        const { wrappers } = yield* listed
        assert.deepStrictEqual(wrappers.find(({ server_name }) => server_name === `to_${given}`)?.user_mappings, [
          shown
        ])
        for (const same of [given.toUpperCase(), given.toLowerCase(), "Current_User", "Public"]) {
          if (same.toLowerCase() !== given.toLowerCase()) continue
          assert.strictEqual(yield* refusal(mapUser(`to_${given}`, { local_user: same })), "409 USER_MAPPING_EXISTS")
        }
      }
      for (const none of ["session_user", "none", "anon "]) {
        assert.strictEqual(yield* refusal(mapUser("to_public", { local_user: none })), "404 ROLE_NOT_FOUND", none)
      }
    })
  )

  it.effect("of secret options are masked, also if they were set by SQL", () =>
    Effect.gen(function* () {
      yield* here("create foreign data wrapper theirs")
      yield* here(
        "create server secretive foreign data wrapper theirs options (url 'http://u:s3cret@h', api_key_secret 's3cret', password 's3=cret', plain 'a=b', schema 'x')"
      )
      const { wrappers } = yield* listed
      assert.deepInclude(wrappers, {
        server_name: "secretive",
        fdw_name: "theirs",
        handler: null,
        validator: null,
        server_options: ["url=****", "api_key_secret=****", "password=****", "plain=a=b", "schema=x"],
        user_mappings: []
      })
      assert.strictEqual(yield* refusal(importAll("secretive", "a", "b")), "400 55000")
    })
  )

  it.effect("may have no password, for servers that require none", () =>
    Effect.gen(function* () {
      yield* makeServer({ name: "trusting" })
      yield* mapUser("trusting", { remote_password: "" })
      assert.deepStrictEqual(yield* options("pg_user_mappings", "umoptions", "trusting"), ["user=postgres"])
      assert.strictEqual(yield* refusal(importAll("trusting", "public", "x")), "400 FOREIGN_LOGIN_REFUSED")
    })
  )
})
