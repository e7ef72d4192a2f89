import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { type ClientError } from "../../../src/domain/errors.ts"
import { idpAddress } from "../../../src/layers/identity/Address.ts"
import { layerIdPNone } from "../../../src/layers/identity/None.ts"
import { IdP } from "../../../src/services/ports/IdP.ts"
import { refusal } from "../../support/refusals.ts"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.provide(idpAddress, ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))

describe("IdPAddress", () => {
  it.effect("keeps origin and path", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* read({}))
      assert.isUndefined(yield* read({ IDP_PUBLIC_URL: " ", IDP_ADMIN_URL: "" }))
      assert.deepStrictEqual(yield* read({ IDP_PUBLIC_URL: "HTTPS://id.Example.com:443//" }), {
        publicUrl: "https://id.example.com",
        adminUrl: undefined
      })
      assert.deepStrictEqual(
        yield* read({ IDP_PUBLIC_URL: "http://a.example/idp/", IDP_ADMIN_URL: "http://[::1]:4434" }),
        { publicUrl: "http://a.example/idp", adminUrl: "http://[::1]:4434" }
      )
    })
  )

  it.effect("stops the start with a one-line error", () =>
    Effect.gen(function* () {
      const wrong = [
        { IDP_PUBLIC_URL: "id.example.com" },
        { IDP_PUBLIC_URL: "ftp://id.example.com" },
        { IDP_PUBLIC_URL: "https://u:p@id.example.com" },
        { IDP_PUBLIC_URL: "https://id.example.com/?a=b" },
        { IDP_PUBLIC_URL: "https://id.example.com/#a" },
        { IDP_PUBLIC_URL: "https://id.example.com", IDP_ADMIN_URL: "4434" },
        { IDP_ADMIN_URL: "http://id.example.com:4434" }
      ]
      for (const env of wrong) {
        const { message } = yield* Effect.flip(read(env))
        assert.match(message, /^IDP_(PUBLIC|ADMIN)_URL must be [^\n]+$/, JSON.stringify(env))
        assert.notInclude(message, "u:p@")
      }
    })
  )
})

describe("IdPNone", () => {
  it.effect("fails every call with 503", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      assert.isFalse(port.configured)
      assert.isFalse(yield* port.ready)
      const me = { _tag: "Token", value: Redacted.make("x") } as const
      const methods: Readonly<Record<string, Effect.Effect<unknown, ClientError>>> = {
        session: port.session(me),
        sessions: port.sessions(me),
        revokeSession: port.revokeSession(me, ""),
        logout: port.logout(me),
        loginUrl: port.loginUrl({ returnTo: "" }),
        identity: port.identity(""),
        identities: port.identities({ pageSize: 1 }),
        factors: port.factors(""),
        beginTotp: port.beginTotp(me),
        confirmTotp: port.confirmTotp(me, "", ""),
        removeTotp: port.removeTotp(me),
        beginWebAuthn: port.beginWebAuthn(me),
        confirmWebAuthn: port.confirmWebAuthn(me, "", "", ""),
        removeWebAuthn: port.removeWebAuthn(me, undefined),
        beginRecoveryCodes: port.beginRecoveryCodes(me),
        confirmRecoveryCodes: port.confirmRecoveryCodes(me, ""),
        removeRecoveryCodes: port.removeRecoveryCodes(me),
        beginPasskeyLogin: port.beginPasskeyLogin,
        passkeyLogin: port.passkeyLogin("", ""),
        beginRecovery: port.beginRecovery,
        recover: port.recover("", "")
      }
      assert.sameMembers(
        Object.keys(port).filter((name) => name !== "configured" && name !== "ready"),
        Object.keys(methods)
      )
      for (const [name, effect] of Object.entries(methods)) {
        assert.strictEqual(yield* refusal(effect), "503 NOT_CONFIGURED", name)
      }
    }).pipe(Effect.provide(layerIdPNone))
  )
})
