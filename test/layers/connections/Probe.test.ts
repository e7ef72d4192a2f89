import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Result } from "effect"
import { type LookupAddress, type SrvRecord } from "node:dns"
import { createServer, type Socket } from "node:net"
import { readConnectionUrl } from "../../../src/domain/connections/Url.ts"
import { layerConnectionProbeWith, type ProbeNames } from "../../../src/layers/connections/Probe.ts"
import { ConnectionProbe } from "../../../src/services/ports/ConnectionProbe.ts"
import { ConnectionSettings } from "../../../src/services/connections/Settings.ts"

const live = { excludeTestServices: true } as const

const names: ProbeNames = {
  lookup: (host, _options, done) => {
    const found: Readonly<Record<string, ReadonlyArray<string>>> = {
      "local.test": ["127.0.0.1"],
      "mixed.test": ["10.0.0.1", "127.0.0.1"],
      "two.test": ["127.0.0.9", "127.0.0.1"]
    }
    const addresses = found[host]?.map((address): LookupAddress => ({ address, family: 4 }))
    if (addresses === undefined) done(Object.assign(new Error("not found"), { code: "ENOTFOUND" }), [])
    else done(null, addresses)
  },
  resolveSrv: (name, done) => {
    const port = Number(/\d+/.exec(name)?.[0])
    done(null, [{ name: "local.test", port, priority: 0, weight: 0 } satisfies SrvRecord])
  }
}

const probe = (env: Readonly<Record<string, string>>) =>
  layerConnectionProbeWith(names).pipe(
    Layer.provide(ConnectionSettings.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...env })))
  )

const check = (text: string) =>
  Effect.gen(function* () {
    const url = readConnectionUrl(text)
    if (Result.isFailure(url)) throw new Error(url.failure)
    const { check } = yield* ConnectionProbe
    return yield* check(url.success)
  })

/** A server on loopback that runs `respond` on each socket. */
const listener = (respond: (socket: Socket) => void = () => undefined) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets: Array<Socket> = []
      const server = createServer((socket) => {
        sockets.push(socket.on("error", () => undefined).resume())
        respond(socket)
      })
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      return { server, sockets, port: (server.address() as { readonly port: number }).port }
    }),
    ({ server, sockets }) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
  )

layer(probe({ SVC_CONNECTIONS_ALLOW_PRIVATE: "true" }), live)("with private addresses allowed", (it) => {
  it.effect("reports that a server accepts connections, and that only this was checked", () =>
    Effect.gen(function* () {
      const { port } = yield* listener()
      for (const url of [
        `redis://:pw@127.0.0.1:${port}`,
        `mysql://u:pw@local.test:${port}/db`,
        `mssql://u:pw@127.0.0.1:${port}`,
        `mongodb://u:pw@local.test:${port}/db`,
        `mongodb+srv://u:pw@srv-${port}.test/db?tls=false`
      ]) {
        const { latency_ms, ...found } = yield* check(url)
        assert.deepStrictEqual(found, { ok: true, checked: "tcp", error: null, code: null, server_version: null }, url)
        assert.isBelow(latency_ms, 2_000)
      }
    })
  )

  it.effect("tries other hosts, and other addresses of a host", () =>
    Effect.gen(function* () {
      const { port } = yield* listener()
      assert.isTrue((yield* check(`mongodb://127.0.0.1:1,local.test:${port}/db`)).ok)
      assert.isTrue((yield* check(`redis://two.test:${port}`)).ok)
    })
  )

  it.effect("completes the TLS handshake, or reports why it fails", () =>
    Effect.gen(function* () {
      const { port } = yield* listener((socket) => socket.end("no TLS here, really none at all"))
      const found = yield* check(`rediss://:pw@127.0.0.1:${port}`)
      assert.deepInclude(found, { ok: false, checked: "tls" })
      assert.isString(found.error)
    })
  )

  it.effect("returns the error, without the password", () =>
    Effect.gen(function* () {
      const cases = [
        ["mysql://u:s3cret@127.0.0.1:1", "ECONNREFUSED", /^Connection refused$/],
        ["redis://:s3cret@nowhere.test", "ENOTFOUND", /^No such host$/],
        ["mysql://u:s3cret@h/?socket=/nowhere/mysql.sock", "ENOENT", /^No such socket$/],
        ["mssql://;user=sa;password=s3cret", null, /names no host/],
        ["postgres://u:s3cret@127.0.0.1:1/db", "ECONNREFUSED", /^Connection refused$/],
        ["postgres://u:s3cret@127.0.0.1:1/db?sslmode=strict", null, /^sslmode must be one of/]
      ] as const
      for (const [url, code, error] of cases) {
        const found = yield* check(url)
        assert.deepInclude(found, { ok: false, code }, url)
        assert.match(found.error ?? "", error)
        assert.notInclude(JSON.stringify(found), "s3cret")
      }
    })
  )

  it.effect(
    "takes at most 5 seconds, for all hosts together, and closes its connections",
    () =>
      Effect.gen(function* () {
        const { port, sockets } = yield* listener()
        for (const url of [`postgres://u:pw@127.0.0.1:${port}/db`, `rediss://127.0.0.1:${port},127.0.0.1:${port}`]) {
          const from = Date.now()
          const found = yield* check(url)
          assert.deepInclude(found, { ok: false, code: "ETIMEDOUT" })
          assert.isBelow(Date.now() - from, 5_800, url)
          yield* Effect.sleep("100 millis")
          assert.isNotEmpty(sockets)
          for (const socket of sockets) assert.isTrue(socket.destroyed, url)
        }
      }),
    15_000
  )

  it.effect(
    "survives servers of another protocol, or with invalid PostgreSQL messages",
    () =>
      Effect.gen(function* () {
        const replies: ReadonlyArray<Uint8Array | string> = [
          "HTTP/1.1 400 Bad Request\r\n\r\n",
          "-ERR unknown command\r\n",
          Uint8Array.of(0x52, 0, 0, 0, 4),
          Uint8Array.of(0x52, 0, 0, 0, 8, 0, 0, 0, 99),
          Uint8Array.of(0x52, 0, 0, 0, 8, 0, 0, 0, 10),
          Uint8Array.of(0x52, 0, 0, 0, 9, 0, 0, 0, 5, 1),
          Uint8Array.of(0x45, 0, 0, 0, 5, 0x53),
          Uint8Array.of(0x54, 0, 0, 0, 6, 0xff, 0xff),
          Uint8Array.of(0x44, 0, 0, 0, 6, 0x7f, 0xff),
          Uint8Array.of(0x53, 0, 0, 0, 4),
          Uint8Array.of(0x52, 0, 0, 0, 0),
          Uint8Array.of(0x52, 0xff, 0xff, 0xff, 0xff, 1, 2, 3),
          Uint8Array.of(0x5a, 0, 0, 0, 5, 0x49),
          "x".repeat(2_000_000)
        ]
        const ask = (reply: Uint8Array | string, mode: string) =>
          Effect.gen(function* () {
            const { port } = yield* listener((socket) =>
              socket.once("data", () => {
                socket.write(reply)
                socket.end()
              })
            )
            const found = yield* check(`postgres://u:s3cret@127.0.0.1:${port}/db?sslmode=${mode}`)
            assert.deepInclude(found, { ok: false, checked: "query" }, `${mode} ${String(reply).slice(0, 50)}`)
            assert.isString(found.error)
            assert.isBelow(found.latency_ms, 15_000)
          })
        // Some keep the driver's parser busy until its thread is terminated.
        const checks = replies.flatMap((reply) => [ask(reply, "disable"), ask(reply, "prefer")])
        yield* Effect.all(checks, { concurrency: 13, discard: true })
      }),
    60_000
  )
})

layer(probe({}), live)("unless private addresses are allowed", (it) => {
  it.effect("connects only to the public Internet, however the host is written", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* listener()
      for (const url of [
        `redis://127.0.0.1:${port}`,
        `redis://[::1]:${port}`,
        `redis://[::ffff:127.0.0.1]:${port}`,
        `redis://local.test:${port}`,
        `redis://mixed.test:${port}`,
        `postgres://u:pw@local.test:${port}/db`,
        `postgres://u:pw@public.test:${port}/db?host=127.0.0.1`,
        `postgres://u:pw@public.test:${port}/db?hostaddr=127.0.0.1`,
        `postgres://u:pw@%2Fvar%2Frun/db`,
        `postgres:///db?host=/var/run`,
        `mysql://h/db?socket=/run/mysqld.sock`,
        `mongodb+srv://u:pw@srv-${port}.test/db`,
        `sqlserver://;server=127.0.0.1;port=${port}`,
        `postgres://u:pw@169.254.169.254/db`
      ]) {
        const found = yield* check(url)
        assert.deepInclude(found, { ok: false }, url)
        assert.match(
          found.error ?? "",
          /^Refused: .* is not on the public Internet \(SVC_CONNECTIONS_ALLOW_PRIVATE\)$/,
          url
        )
      }
      assert.lengthOf(sockets, 0)
    })
  )
})
