import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Stream } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { BadGateway, Unauthorized } from "../../../src/domain/errors.ts"
import { RealtimeGate } from "../../../src/http/access/RealtimeGate.ts"
import { newAdmission, type ServedRequest } from "../../../src/http/access/ServedRequest.ts"
import { IdentitySettings } from "../../../src/services/identity/Settings.ts"
import { IdP, type SessionError } from "../../../src/services/ports/IdP.ts"
import { Keys } from "../../../src/services/access/Keys.ts"
import { DashboardSessions } from "../../../src/services/dashboard/Sessions.ts"
import { RealtimeSettings } from "../../../src/services/realtime/Settings.ts"
import { Sessions } from "../../../src/services/identity/Sessions.ts"
import { Tokens } from "../../../src/services/access/Tokens.ts"

/** A gate whose session is the value of `now`. */
const gate = (now: () => { readonly admin: boolean } | SessionError) =>
  RealtimeGate.layer.pipe(
    Layer.provide([
      Layer.mock(IdP, { configured: true }),
      Layer.mock(Keys, { changes: Stream.never }),
      Layer.mock(Tokens, { scopes: [] }),
      Layer.mock(DashboardSessions, {}),
      Layer.mock(Sessions, {
        current: () =>
          Effect.suspend(() => {
            const found = now()
            return "admin" in found
              ? Effect.succeed({ admin: found.admin, identity: { id: "1" } } as never)
              : Effect.fail(found)
          })
      }),
      RealtimeSettings.layer,
      IdentitySettings.layer
    ]),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({})))
  )

const http = HttpServerRequest.fromWeb(
  new Request("http://a.example/realtime", { headers: { cookie: "svc_session=x", host: "a.example" } })
)
const request: ServedRequest = {
  ...newAdmission("192.0.2.1"),
  id: "1",
  http,
  headers: http.headers,
  sentPath: "/realtime",
  path: "/realtime",
  at: 0,
  begun: 0n,
  caller: undefined
}

describe("RealtimeGate", () => {
  it.effect.each([
    [true, "service_role"],
    [false, "authenticated"]
  ] as const)("admits a session; administrator %s is %s", ([admin, role]) =>
    Effect.gen(function* () {
      const { enter } = yield* RealtimeGate
      assert.strictEqual((yield* enter(request, {})).actor.role, role)
    }).pipe(Effect.provide(gate(() => ({ admin }))))
  )

  it.effect.each([
    ["ends", new Unauthorized({ error: "over", code: "UNAUTHENTICATED" })],
    ["loses the administrator role", { admin: false }]
  ] as const)("ends the connection within 30 s when the session %s", ([, later]) => {
    let now: { readonly admin: boolean } | SessionError = { admin: true }
    return Effect.gen(function* () {
      const { enter } = yield* RealtimeGate
      const { until } = yield* enter(request, {})
      const listening = yield* Effect.forkChild(Effect.flip(until), { startImmediately: true })
      now = new BadGateway({ error: "down", code: "IDP_UNAVAILABLE" })
      yield* TestClock.adjust("2 minutes")
      assert.isUndefined(listening.pollUnsafe(), "continues while the session can't be verified")
      now = later
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(listening)).code, "UNAUTHENTICATED")
    }).pipe(Effect.provide(gate(() => now)))
  })
})
