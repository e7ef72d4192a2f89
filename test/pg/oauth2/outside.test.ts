import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { afterAll, vi } from "vitest"
import { BadGateway } from "../../../src/domain/errors.ts"
import { makePublicFetch } from "../../../src/layers/net/Outbound.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { live } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { startEmbedded } from "../../support/oauth2/embedded.ts"
import { challengeAt, claimsOf, exchange, fresh, journey, party, refresh } from "../../support/oauth2/oauth2.ts"

vi.setConfig({ testTimeout: 60_000 })

let idpIsDown = false
let internalAllowed = false
const refusals: Array<string> = []
const setting = "SVC_OAUTH2_ALLOW_PRIVATE"
const scope = Scope.makeUnsafe()
const [open, guarded] = await Effect.runPromise(
  Effect.all([
    makePublicFetch({ allowPrivate: true, setting }),
    makePublicFetch({ allowPrivate: false, setting })
  ]).pipe(Scope.provide(scope))
)
const { close, failures, port, server } = await startEmbedded("oauth2_outside", {
  fetch: (url, init) =>
    (internalAllowed ? open : guarded)(url, init).catch((failure: Error) => {
      refusals.push(String(failure.cause))
      throw failure
    }),
  isActive: () =>
    Effect.suspend(() =>
      idpIsDown ? Effect.fail(new BadGateway({ error: "The identity provider is down" })) : Effect.succeed(true)
    )
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await close()
})

/** Signs a user in and out of a client with this URL for notices. */
const signOut = Effect.fnUntraced(function* (backchannel_logout_uri: string) {
  const { acceptLogout } = yield* OAuth2
  const of = yield* party({ backchannel_logout_uri, backchannel_logout_session_required: true })
  const how = { browser: startBrowsing(), subject: fresh("ada") }
  yield* exchange(server, of, (yield* journey(server, of, how))["code"])
  const challenge = yield* challengeAt(how.browser, `${server.publicUrl}/oauth2/sessions/logout`, "logout")
  yield* acceptLogout(challenge)
  return { ...how, of }
})

layer(port, live)("other servers", (it) => {
  it.effect("that are down are the answer's cause, not a server error without one", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const { body } = yield* exchange(server, of, (yield* journey(server, of, { subject: fresh("ada") }))["code"])
      idpIsDown = true
      yield* refresh(server, of, body.refresh_token)
      idpIsDown = false
      assert.deepStrictEqual(
        failures.splice(0).map((failure) => failure instanceof BadGateway),
        [true]
      )
      // Nothing was used up.
      assert.strictEqual((yield* refresh(server, of, body.refresh_token)).status, 200)
    })
  )

  it.effect("are notified of sign-outs, on internal addresses only if that is allowed", () =>
    Effect.gen(function* () {
      const received: Array<string> = []
      const client = createServer((request, response) => {
        let body = ""
        request
          .setEncoding("utf8")
          .on("data", (text: string) => (body += text))
          .once("end", () => {
            received.push(body)
            response.end()
          })
      }).listen(0, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => client.close()))
      yield* Effect.promise(() => once(client, "listening"))
      const url = `http://127.0.0.1:${(client.address() as AddressInfo).port}/signed-out`
      yield* signOut(url)
      yield* eventually(
        Effect.sync(() => refusals),
        (all) => all.length > 0
      )
      assert.match(refusals[0] ?? "", /127\.0\.0\.1 is not on the public Internet \(SVC_OAUTH2_ALLOW_PRIVATE\)/)
      assert.deepStrictEqual(received, [])
      internalAllowed = true
      const { of, subject } = yield* signOut(url)
      yield* eventually(
        Effect.sync(() => received),
        (all) => all.length > 0
      )
      const claims = claimsOf(new URLSearchParams(received[0]).get("logout_token") ?? "")
      assert.deepInclude(claims, { iss: server.publicUrl, aud: of.client.client_id, sub: subject })
      assert.property(claims["events"], "http://schemas.openid.net/event/backchannel-logout")
      assert.isString(claims["sid"])
    })
  )
})
