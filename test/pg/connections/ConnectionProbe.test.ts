import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { readConnectionUrl } from "../../../src/domain/connections/Url.ts"
import { layerConnectionProbe } from "../../../src/layers/connections/Probe.ts"
import { ConnectionProbe } from "../../../src/services/ports/ConnectionProbe.ts"
import { ConnectionSettings } from "../../../src/services/connections/Settings.ts"
import { Other, there } from "../../support/foreign/servers.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"

const parts = layerConnectionProbe.pipe(
  Layer.provide(Layer.succeed(ConnectionSettings, { allowPrivate: true })),
  Layer.provideMerge(Layer.effect(Other, Effect.acquireDisposable(Effect.promise(startOtherPostgres))))
)

/** Tests a connection to the other server with a changed URL. */
const check = (change: (url: string) => string = (url) => url) =>
  Effect.gen(function* () {
    const { password, url } = yield* Other
    const read = readConnectionUrl(change(url))
    if (Result.isFailure(read)) throw new Error(read.failure)
    const { check } = yield* ConnectionProbe
    const found = yield* check(read.success)
    assert.notInclude(JSON.stringify(found), password)
    return found
  })

/** A self-signed certificate for the other server, whose key only its user may read. */
const makeTls = `
  create temporary table pem (line text);
  copy pem from program 'openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout server.key -out server.crt 2>&1 && chmod 600 server.key'`

layer(parts, { excludeTestServices: true })("testing a PostgreSQL connection", (it) => {
  it.effect("signs in and runs a query", () =>
    Effect.gen(function* () {
      const { latency_ms, server_version, ...found } = yield* check()
      assert.deepStrictEqual(found, { ok: true, checked: "query", error: null, code: null })
      assert.match(server_version ?? "", /^18/)
      assert.isAbove(latency_ms, 0)
    })
  )

  it.effect("uses a password from the parameters, and the next host if the first is down or starting", () =>
    Effect.gen(function* () {
      const { password, port } = yield* Other
      const written = encodeURIComponent(password)
      assert.isTrue((yield* check(() => `postgres://postgres@127.0.0.1:${port}/postgres?password=${written}`)).ok)
      assert.isTrue(
        (yield* check(() => `postgres://127.0.0.1:${port}?user=postgres&dbname=postgres&password=${written}`)).ok
      )
      assert.isTrue((yield* check((url) => url.replace("@", "@127.0.0.1:1,"))).ok)
    })
  )

  it.effect("returns PostgreSQL's error", () =>
    Effect.gen(function* () {
      const { port } = yield* Other
      const wrong = yield* check(() => `postgres://postgres:wr0ng@127.0.0.1:${port}/postgres`)
      assert.deepInclude(wrong, {
        ok: false,
        code: "28P01",
        error: 'password authentication failed for user "postgres"'
      })
      // PostgreSQL's message contains the user name, here the same text as the password.
      const echoed = yield* check(() => `postgres://wr0ng:wr0ng@127.0.0.1:${port}/postgres`)
      assert.deepInclude(echoed, { ok: false, code: "28P01", error: "The server refused the connection (28P01)" })
      const nowhere = yield* check((url) => `${url}x`)
      assert.deepInclude(nowhere, { ok: false, code: "3D000", error: 'database "postgresx" does not exist' })
      assert.match((yield* check((url) => url.replace(/:[^:@]+@/, "@"))).error ?? "", /password/)
    })
  )

  it.effect("encrypts if required, and fails if the server can't", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* check((url) => `${url}?sslmode=prefer`)).ok)
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        const found = yield* check((url) => `${url}?sslmode=${mode}`)
        assert.deepInclude(found, { ok: false, error: "The server does not support SSL connections" }, mode)
      }
    })
  )

  it.effect("verifies the certificate according to sslmode", () =>
    Effect.gen(function* () {
      yield* there(makeTls)
      yield* there("alter system set ssl = on")
      yield* there("select pg_reload_conf()")
      yield* Effect.sleep("500 millis")
      assert.isTrue((yield* check((url) => `${url}?sslmode=disable`)).ok)
      for (const mode of ["prefer", "require"]) {
        assert.isTrue((yield* check((url) => `${url}?sslmode=${mode}`)).ok, mode)
      }
      for (const mode of ["verify-ca", "verify-full"]) {
        assert.match((yield* check((url) => `${url}?sslmode=${mode}`)).error ?? "", /self-signed certificate/, mode)
      }
    })
  )

  it.effect("uses no environment variable of this process", () =>
    Effect.gen(function* () {
      const { password, port } = yield* Other
      process.env["PGPASSWORD"] = password
      try {
        assert.isFalse((yield* check(() => `postgres://postgres@127.0.0.1:${port}/postgres`)).ok)
      } finally {
        delete process.env["PGPASSWORD"]
      }
    })
  )
})
