import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { type Resolve, makePublicFetch } from "../../../src/layers/net/Outbound.ts"

const setting = "SVC_TEST_ALLOW_PRIVATE"

/** A server on loopback that counts its requests. */
const listening = Effect.gen(function* () {
  const seen: Array<string> = []
  const server = createServer((request, response) => {
    seen.push(request.url ?? "")
    if (request.url === "/elsewhere") return response.writeHead(302, { location: "/large" }).end()
    return response.end(request.url === "/large" ? "x".repeat(1024 * 1024) : "ok")
  }).listen(0, "127.0.0.1")
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  yield* Effect.promise(() => once(server, "listening"))
  return { port: (server.address() as AddressInfo).port, seen }
})
const failure = (response: Promise<Response>) =>
  Effect.promise(() =>
    response.then(
      ({ status }) => String(status),
      ({ cause }: Error) => String(cause)
    )
  )

it.effect("connects to no address outside the public Internet, however it is spelled or found", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* listening
    const resolve: Resolve = (_name, _options, done) =>
      done(null, [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
        { address: "10.0.0.1", family: 4 }
      ])
    const fetch = yield* makePublicFetch({ allowPrivate: false, setting, resolve })
    for (const host of ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]) {
      assert.match(yield* failure(fetch(`http://${host}:${port}/`)), /Refused: .* \(SVC_TEST_ALLOW_PRIVATE\)/, host)
    }
    for (const host of ["localhost", "app.example.com", "169.254.169.254", "10.0.0.1"]) {
      for (const scheme of ["http", "https"]) {
        assert.match(yield* failure(fetch(`${scheme}://${host}:${port}/`)), /Refused/, `${scheme} ${host}`)
      }
    }
    assert.deepStrictEqual(seen, [])
  })
)

it.effect("follows no redirect, and reads no large response", () =>
  Effect.gen(function* () {
    const { port, seen } = yield* listening
    const fetch = yield* makePublicFetch({ allowPrivate: true, setting })
    const at = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    assert.strictEqual(yield* Effect.promise(async () => (await at("/")).text()), "ok")
    assert.strictEqual((yield* Effect.promise(() => at("/elsewhere"))).status, 302)
    const large = yield* Effect.promise(() => at("/large"))
    assert.match(yield* failure(large.text().then(() => large)), /maxResponseSize|Response content exceeded/i)
    assert.deepStrictEqual(seen, ["/", "/elsewhere", "/large"])
  })
)
