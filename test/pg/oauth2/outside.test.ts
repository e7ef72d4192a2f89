import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { afterAll, vi } from "vitest"
import { BadGateway } from "../../../src/domain/errors.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { live } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { startEmbedded } from "../../support/oauth2/embedded.ts"
import { challengeAt, claimsOf, exchange, fresh, journey, party, refresh } from "../../support/oauth2/oauth2.ts"

vi.setConfig({ testTimeout: 60_000 })

let idpIsDown = false
const { close, failures, port, server } = await startEmbedded("oauth2_outside", {
  isActive: () =>
    Effect.suspend(() =>
      idpIsDown ? Effect.fail(new BadGateway({ error: "The identity provider is down" })) : Effect.succeed(true)
    )
})
afterAll(close)

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

  it.effect("are notified of sign-outs", () =>
    Effect.gen(function* () {
      const url = "https://shop.example.com/signed-out"
      const original = globalThis.fetch
      const sent: Array<string> = []
      const spy = vi.spyOn(globalThis, "fetch").mockImplementation((to, init) => {
        if (String(to) !== url) return original(to, init)
        sent.push(String(init?.body))
        return Promise.resolve(new Response(null, { status: 200 }))
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
      const { of, subject } = yield* signOut(url)
      yield* eventually(
        Effect.sync(() => sent),
        (all) => all.length > 0
      )
      const claims = claimsOf(new URLSearchParams(sent[0]).get("logout_token") ?? "")
      assert.deepInclude(claims, { iss: server.publicUrl, aud: of.client.client_id, sub: subject })
      assert.property(claims["events"], "http://schemas.openid.net/event/backchannel-logout")
      assert.isString(claims["sid"])
    })
  )

  it.effect("are not notified on internal addresses", () =>
    Effect.gen(function* () {
      let requests = 0
      const internal = createServer((_request, response) => {
        requests++
        response.end()
      }).listen(0, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => internal.close()))
      yield* Effect.promise(() => new Promise((listening) => internal.once("listening", listening)))
      yield* signOut(`http://127.0.0.1:${(internal.address() as AddressInfo).port}/signed-out`)
      yield* Effect.sleep("300 millis")
      assert.strictEqual(requests, 0)
    })
  )
})
