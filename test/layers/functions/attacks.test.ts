import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { hasPrivateV6 } from "../../../src/domain/functions/Network.ts"
import { isWithout } from "../../support/skips.ts"
import { called, layerDeno, started } from "../../support/functions/engine.ts"

/** What a function tries, and gets only with a permission. The expression gives something if the attack succeeds. */
const refused: Readonly<Record<string, string>> = {
  "a file of the system": `Deno.readTextFile("/etc/hostname")`,
  "a file of the system, by Node": `(await import("node:fs")).readFileSync("/etc/hostname")`,
  "the environment of the process": `Deno.readTextFile("/proc/self/environ")`,
  "the files of other functions": `Deno.readDir(new URL("../../../", import.meta.url).pathname)[Symbol.asyncIterator]().next()`,
  "the sockets of other functions": `Deno.readDir(new URL("../../../sockets", import.meta.url).pathname)[Symbol.asyncIterator]().next()`,
  "an imported file": `import("file:" + "///etc/hostname", { with: { type: "text" } })`,
  "an imported file of another function": `import(new URL("../../OTHER/src/index.ts", import.meta.url).href)`,
  "a write": `Deno.writeTextFile("x", "y")`,
  "a write to its own file": `Deno.writeTextFile(new URL(import.meta.url), "y")`,
  "a write in place of its socket": `Deno.writeTextFile(SOCKET, "y")`,
  "a removal of its socket": `Deno.remove(SOCKET)`,
  "a removal of the socket of the API": `Deno.remove(API)`,
  "a file beside the socket of the API": `Deno.writeTextFile(API + "2", "y")`,
  "a file in place of the socket of the API": `(Deno.removeSync(API), Deno.writeTextFile(API, "y"))`,
  "a temporary file": `Deno.makeTempFile()`,
  "a database in a file": `(() => { new SQLite("/tmp/functions-attack.db") })()`,
  "an attached database": `(() => { new SQLite(":memory:").exec("attach '/tmp/functions-attack.db' as a; create table a.t (x)"); return 1 })()`,
  "a program": `new Deno.Command("id").output()`,
  "a program, by Node": `new Promise((done, fail) => { const child = spawn("id"); child.on("error", fail); child.on("exit", done) })`,
  "a signal": `Deno.kill(1, "SIGTERM")`,
  "native code": `Deno.dlopen("libc.so.6", {})`,
  "more permission": `Deno.permissions.request({ name: "run" }).then(({ state }) => { if (state !== "granted") throw new Error("refused") })`,
  "a worker": `new Promise((done, fail) => { const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(Deno.readTextFileSync('/etc/hostname'))"], { type: "text/javascript" })), { type: "module" }); worker.onmessage = done; worker.onerror = (event) => { event.preventDefault(); fail(new Error(event.message)) } })`,
  "a debugger": `(await import("node:inspector")).open(0)`,
  "a port of its own": `Promise.resolve(Deno.listen({ port: 0 }))`,
  "a port of its own on loopback": `Promise.resolve(Deno.listen({ port: 0, hostname: "127.0.0.1" }))`,
  "a socket of its own": `Promise.resolve(Deno.listen({ transport: "unix", path: "/tmp/functions-attack.sock" }))`,
  "an abstract socket": `new Promise((done, fail) => net.connect("\\0svc").on("connect", done).on("error", fail))`,
  "a socket of the system": `Deno.connect({ transport: "unix", path: "/var/run/docker.sock" })`,
  "a name server of its own choice": `Deno.resolveDns("localhost", "A", { nameServer: { ipAddr: "127.0.0.1", port: 53 } })`,
  "the name of the machine": `Promise.resolve(Deno.hostname())`,
  "the addresses of the machine": `Promise.resolve(Deno.networkInterfaces())`,
  "a module from the network": `import("http:" + "//127.0.0.1:PORT/x.ts")`,
  "a package at run time": `import("npm:" + "is-odd@3.0.1")`,
  "a proxy": `fetch("http://example.com", { client: Deno.createHttpClient({ proxy: { url: "http://127.0.0.1:PORT" } }) })`,
  "a proxy by name": `fetch("http://example.com", { client: Deno.createHttpClient({ proxy: { url: "http://localhost:PORT" } }) })`
}

/** Addresses of this machine and of its network, in forms that parsers differ about. */
const hosts = [
  "127.0.0.1",
  "127.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "017700000001",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "0.0.0.0",
  "0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:0001]",
  "169.254.169.254",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.0.1",
  "100.64.0.1"
]

const ways = (host: string): Readonly<Record<string, string>> => {
  const plain = host.replace(/^\[|\]$/g, "")
  return {
    fetch: `fetch("http://${host}:PORT/")`,
    WebSocket: `new Promise((done, fail) => { const socket = new WebSocket("ws://${host}:PORT/"); socket.onopen = done; socket.onerror = () => fail(new Error("refused")); setTimeout(() => fail(new Error("late")), 1000) })`,
    "Deno.connect": `Deno.connect({ hostname: "${plain}", port: PORT })`,
    "node:net": `new Promise((done, fail) => net.connect(PORT, "${plain}").on("connect", done).on("error", fail))`
  }
}

const code = (attacks: ReadonlyArray<readonly [string, string]>) => `
import net from "node:net"
import { spawn } from "node:child_process"
import { DatabaseSync as SQLite } from "node:sqlite"
const [SOCKET, API] = Deno.args
const attacks = { ${attacks.map(([name, expression]) => `${JSON.stringify(name)}: async () => ${expression}`).join(",\n")} }
Deno.serve(async () => {
  const results = await Promise.all(Object.entries(attacks).map(async ([name, attack]) => {
    try {
      await Promise.race([attack(), new Promise((_, fail) => setTimeout(() => fail(new Error("late")), 2000))])
      return [name, "succeeded"]
    } catch (error) {
      return [name, "refused: " + error.name + " " + error.message]
    }
  }))
  return Response.json(results)
})`

layer(layerDeno({ SVC_FUNCTIONS_BLOCKED: "5s" }), { excludeTestServices: true })("functions that attack", (it) => {
  it.effect.skipIf(isWithout("deno"))("get no files, programs, sockets or modules", () =>
    Effect.gen(function* () {
      const { digest } = yield* started({ "index.ts": "export default { fetch: () => new Response() }" })
      const { process } = yield* started({ "index.ts": code(Object.entries(refused)).replaceAll("OTHER", digest) })
      const results = JSON.parse((yield* called(process)).text) as ReadonlyArray<readonly [string, string]>
      assert.deepStrictEqual(
        results.filter(([, result]) => result === "succeeded"),
        []
      )
      assert.lengthOf(results, Object.keys(refused).length)
      assert.strictEqual((yield* called(process)).status, 200) // its socket is still there
    })
  )

  it.effect.skipIf(isWithout("deno"))(
    "reach no address of this machine or its network, by names and other forms neither",
    () =>
      Effect.gen(function* () {
        let reached = 0
        const server = createServer((_request, response) => {
          reached++
          response.end("reached")
        })
        yield* Effect.promise(() => new Promise<void>((done) => server.listen(0, "::", done)))
        const port = String((server.address() as AddressInfo).port)
        const attacks = hosts.flatMap((host) =>
          Object.entries(ways(host)).map(([way, expression]) => [`${way} ${host}`, expression] as const)
        )
        const { process } = yield* started({ "index.ts": code(attacks).replaceAll("PORT", port) })
        const results = JSON.parse((yield* called(process)).text) as ReadonlyArray<readonly [string, string]>
        assert.deepStrictEqual(
          results.filter(([, result]) => result === "succeeded"),
          []
        )
        assert.lengthOf(results, attacks.length)
        assert.strictEqual(reached, 0)
        // The server can be reached, so that the refusals are Deno's.
        yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/`))
        assert.strictEqual(reached, 1)
        server.close()
        server.closeAllConnections()
      })
  )

  it.effect.skipIf(isWithout("deno"))("are not led there by redirects, those of their own service included", () =>
    Effect.gen(function* () {
      let reached = 0
      const server = createServer((request, response) => {
        const to = new URL(request.url ?? "", "http://x").searchParams.get("to")
        if (to === null) reached++
        response.writeHead(to === null ? 200 : 302, to === null ? {} : { location: to }).end("reached")
      })
      yield* Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)))
      const port = String((server.address() as AddressInfo).port)
      const targets = [
        `http://127.0.0.1:${port}/`,
        `http://localhost:${port}/`,
        `http://[::ffff:127.0.0.1]:${port}/`,
        "http://169.254.169.254/"
      ]
      const attacks = targets.map((to) => [to, `fetch("http://svc.test/?to=${encodeURIComponent(to)}")`] as const)
      const settings = { PUBLIC_URL: "http://svc.test", PORT: port }
      const { results, sent } = yield* started({
        "index.ts": code([...attacks, ["own", `fetch("http://svc.test/")`]])
      }).pipe(
        Effect.flatMap(({ process }) => called(process)),
        Effect.map(({ text }) => ({
          results: JSON.parse(text) as ReadonlyArray<readonly [string, string]>,
          sent: reached
        })),
        Effect.provide(layerDeno(settings)),
        Effect.scoped
      )
      assert.deepStrictEqual(
        results.filter(([, result]) => result === "succeeded"),
        [["own", "succeeded"]]
      )
      assert.strictEqual(sent, 1)
      server.close()
    })
  )

  it.effect.skipIf(isWithout("deno"))("see the variables that they were given, and no others", () =>
    Effect.gen(function* () {
      const { process } = yield* started(
        {
          "index.ts": `Deno.serve(async () => Response.json([Deno.env.toObject(), { ...(await import("node:process")).env }, Deno.env.get("HOME") ?? null]))`
        },
        { env: { MINE: "1" } }
      )
      assert.deepStrictEqual(JSON.parse((yield* called(process)).text), [{ MINE: "1" }, { MINE: "1" }, null])
    })
  )

  it.effect.skipIf(isWithout("deno"))("reach the hosts of SVC_FUNCTIONS_HOSTS alone, and their own service", () =>
    Effect.gen(function* () {
      const server = createServer((_request, response) => response.end("reached"))
      yield* Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)))
      const port = String((server.address() as AddressInfo).port)
      const attacks = [
        ["another name", `fetch("http://other.example/")`],
        ["another address", `Deno.connect({ hostname: "1.1.1.1", port: 80 })`],
        ["an address of IPv6", `Deno.connect({ hostname: "2001:4860:4860::8888", port: 443 })`],
        ["another port", `Deno.connect({ hostname: "allowed.example", port: 443 })`],
        ["a private address with an allowed name", `Deno.connect({ hostname: "localhost", port: ${port} })`],
        [
          "a request by a socket of its own choice",
          `fetch("http://allowed.example/", { client: Deno.createHttpClient({ proxy: { transport: "unix", path: "/var/run/docker.sock" } }) })`
        ],
        ["own", `fetch("http://svc.test/")`]
      ] as const
      const settings = {
        PUBLIC_URL: "http://svc.test",
        PORT: port,
        SVC_FUNCTIONS_HOSTS: `allowed.example:80,localhost:${port}`
      }
      const results = yield* started({ "index.ts": code(attacks) }).pipe(
        Effect.flatMap(({ process }) => called(process)),
        Effect.map(({ text }) => JSON.parse(text) as ReadonlyArray<readonly [string, string]>),
        Effect.provide(layerDeno(settings)),
        Effect.scoped
      )
      assert.deepStrictEqual(
        results.map(([name, result]) => [name, result.replace(/ .*/s, "")]),
        attacks.map(([name]) => [name, name === "own" ? "succeeded" : "refused:"])
      )
      // By permission, not because there is no such host.
      for (const [, result] of results.filter(([name]) => name !== "own")) assert.include(result, "NotCapable")
      server.close()
      server.closeAllConnections()
    })
  )

  it.effect("are not run in a private network of IPv6 unless the hosts are named", () =>
    Effect.sync(() => {
      for (const own of ["fd00::2", "FC12:3::4"]) assert.isTrue(hasPrivateV6(["127.0.0.1", "::1", own]), own)
      for (const own of ["::1", "fe80::1", "2606:4700::1111", "10.0.0.1"]) assert.isFalse(hasPrivateV6([own]), own)
    })
  )
})
