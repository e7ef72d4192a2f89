import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { cp, readFile, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { quoteName } from "../../../src/domain/sql/Names.ts"
import { dumpWasm, wasmMajor, wasmVersion } from "../../../src/layers/dumps/wasm/Wasm.ts"
import { atPlace, type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { directory, filesIn, makeDatabase, on, scriptIn, serverLogin } from "../../support/dumps/databases.ts"
import { startNarrowServer } from "../../support/dumps/narrowServer.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"

const dump = (login: Login, database: string, files?: string) =>
  Effect.gen(function* () {
    const path = yield* directory
    const file = join(path, "it.sql.zst")
    const options = { timeout: 60_000, ...(files === undefined ? {} : { directory: files }) }
    yield* dumpWasm(login, options)(database, file, () => Effect.void)
    return (yield* scriptIn(file)).toString()
  })

it.live("connects with any password and name, to a database with any name", () =>
  Effect.gen(function* () {
    const password = `S3cret päss 😀 '"\\ =%`
    const user = `dump "näme' \\ ${process.pid}`
    yield* Effect.acquireRelease(
      on(
        "postgres",
        `create role ${quoteName(user)} superuser login password E'${password.replaceAll(/[\\']/g, "\\$&")}'`
      ),
      () => on("postgres", `drop role ${quoteName(user)}`)
    )
    const database = yield* makeDatabase(`dump "ödd' \\ = x`, "", "create table here (n int)")
    const script = yield* dump({ ...serverLogin(), user, password: Redacted.make(password) }, database)
    assert.include(script, "CREATE TABLE public.here")
    assert.include(script, `Dumped by pg_dump version ${wasmVersion}`)
  }).pipe(Effect.scoped)
)

/** Creates a self-signed certificate for the server; only its user can read the key. */
const makeTls = `
  create temporary table pem (line text);
  copy pem from program 'openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout server.key -out server.crt 2>&1 && chmod 600 server.key';
  create table here (n int);`

it.live("encrypts as its login requires", () =>
  Effect.gen(function* () {
    const other = yield* Effect.acquireDisposable(Effect.promise(startOtherPostgres))
    const to = (mode: string) => dump(parseLogin(`${other.url}?sslmode=${mode}`) as Login, "postgres")
    assert.match((yield* Effect.flip(to("require"))).reason, /does not support SSL/)
    yield* Effect.promise(async () => {
      await other.sql(makeTls)
      await other.sql("alter system set ssl = on")
      await other.sql("select pg_reload_conf()")
    })
    yield* Effect.sleep("500 millis")
    assert.include(yield* to("disable"), "CREATE TABLE public.here")
    assert.include(yield* to("require"), "CREATE TABLE public.here")
    assert.match((yield* Effect.flip(to("verify-ca"))).reason, /self-signed certificate/)
    assert.match((yield* Effect.flip(to("verify-full"))).reason, /self-signed certificate/)
    const [row] = yield* Effect.promise(() =>
      other.sql("select setting from pg_settings where name = 'password_encryption'")
    )
    assert.deepStrictEqual(row, { setting: "scram-sha-256" })
  }).pipe(Effect.scoped)
)

it.live("rejects a server that is newer than pg_dump", () =>
  Effect.gen(function* () {
    // Part of the row with the version and the encoding.
    const known = Buffer.from("\0\0\0\x0218\0\0\0\x04UTF8", "latin1")
    const rewrite = (bytes: Buffer) => {
      const i = bytes.indexOf(known)
      if (i >= 0) bytes.write("19", i + 4)
      return bytes
    }
    const { port } = yield* Effect.acquireDisposable(
      Effect.promise(() => startNarrowServer(serverLogin().at.port, { rewrite }))
    )
    const { reason } = yield* Effect.flip(dump(atPlace(serverLogin(), { host: "127.0.0.1", port }), "postgres"))
    assert.strictEqual(
      reason,
      `The server is PostgreSQL 19, and the built-in pg_dump supports at most ${wasmMajor}: install pg_dump 19`
    )
  }).pipe(Effect.scoped)
)

it.live("only runs the verified pg_dump", () =>
  Effect.gen(function* () {
    const installed = dirname(createRequire(import.meta.url).resolve("@electric-sql/pglite-tools/pg_dump"))
    const path = yield* directory
    const reason = Effect.map(Effect.flip(dump(serverLogin(), "postgres", path)), ({ reason }) => reason)
    assert.match(yield* reason, /is not installed/)
    yield* Effect.promise(async () => {
      for (const name of ["pg_dump.wasm", "pg_dump.cjs.map"]) await cp(join(installed, name), join(path, name))
    })
    assert.include(yield* dump(serverLogin(), "postgres", path), "PostgreSQL database dump complete")
    for (const [name, what] of [
      ["pg_dump.wasm", "program"],
      ["pg_dump.cjs.map", "script"]
    ] as const) {
      const bytes = yield* Effect.promise(() => readFile(join(path, name)))
      const changed = Buffer.from(bytes)
      const i = name.endsWith(".map") ? changed.indexOf("var Module") + 4 : changed.length - 1
      changed[i] = (changed[i] as number) ^ 1
      yield* Effect.promise(() => writeFile(join(path, name), changed))
      assert.include(yield* reason, `not the verified version (sha256 of its ${what})`)
      yield* Effect.promise(() => writeFile(join(path, name), bytes))
    }
    assert.lengthOf(yield* filesIn(path), 2)
  }).pipe(Effect.scoped)
)
