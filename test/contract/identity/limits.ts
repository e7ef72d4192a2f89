import { assert, layer } from "@effect/vitest"
import { Effect, type Layer, Redacted } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { IdP } from "../../../src/services/ports/IdP.ts"
import { Authenticator } from "../../support/identity/authenticator.ts"
import {
  cookieOf,
  enrolPasskey,
  type IdPUnderTest,
  loginPageOf,
  makePerson,
  signInAgain,
  tokenOf
} from "../../support/identity/idp.ts"
import { refusal } from "../../support/refusals.ts"
import { totpCode } from "../../support/identity/totp.ts"

/** The contract of the port for a server whose flows expire after 3 s and whose sign-ins are recent for 1 s. */
export const idpShortContract = (name: string, idp: IdPUnderTest, port: Layer.Layer<IdP>) =>
  layer(port, { excludeTestServices: true, timeout: 60_000 })(name, (it) => {
    it.effect("reports that a flow has expired", () =>
      Effect.gen(function* () {
        const port = yield* IdP
        const person = yield* Effect.promise(() => makePerson(idp))
        const credential = yield* Effect.promise(() => tokenOf(idp, person))
        const key = new Authenticator(idp.origin)
        yield* Effect.promise(() => enrolPasskey(idp, credential, key))
        const totp = yield* port.beginTotp(credential)
        const webauthn = yield* port.beginWebAuthn(credential)
        const attestation = new Authenticator(idp.origin).create(webauthn.options.publicKey)
        const passkey = yield* port.beginPasskeyLogin
        const assertion = key.get(passkey.options.publicKey)
        const recovery = yield* port.beginRecovery
        yield* Effect.promise(() => sleep(3_200))
        const over = [
          port.confirmTotp(credential, totp.flowId, totpCode(Redacted.value(totp.secret))),
          port.confirmWebAuthn(credential, webauthn.flowId, attestation, "Key"),
          port.confirmRecoveryCodes(credential, totp.flowId),
          port.passkeyLogin(passkey.flowId, assertion),
          port.recover(recovery.id, person.email)
        ]
        for (const [index, call] of over.entries()) {
          assert.strictEqual(yield* refusal<unknown, never>(call), "410 FLOW_EXPIRED", String(index))
        }
      })
    )

    it.effect.each([tokenOf, cookieOf].map((signIn) => [signIn.name, signIn] as const))(
      "requires a recent sign-in for changes (%s)",
      ([, signIn]) =>
        Effect.gen(function* () {
          const port = yield* IdP
          const person = yield* Effect.promise(() => makePerson(idp))
          const credential = yield* Effect.promise(() => signIn(idp, person))
          yield* Effect.promise(() => sleep(1_200))
          const { flowId, secret } = yield* port.beginTotp(credential)
          const code = totpCode(Redacted.value(secret))
          const stale = yield* Effect.flip(port.confirmTotp(credential, flowId, code))
          assert.strictEqual(stale._tag === "StepUpRequired" && stale.code, "reauthentication_required")
          assert.strictEqual(stale._tag === "StepUpRequired" && stale.redirect_to, `${loginPageOf(idp)}?refresh=true`)
          const webauthn = yield* port.beginWebAuthn(credential)
          const attestation = new Authenticator(idp.origin).create(webauthn.options.publicKey)
          const call = port.confirmWebAuthn(credential, webauthn.flowId, attestation, "Key")
          assert.strictEqual(yield* refusal(call), "403 reauthentication_required")
          assert.strictEqual(yield* refusal(port.beginRecoveryCodes(credential)), "403 reauthentication_required")
          yield* port.session(credential)
          yield* Effect.promise(() => signInAgain(idp, credential, person))
          // The same flow continues.
          yield* port.confirmTotp(credential, flowId, code)
          yield* Effect.promise(() => sleep(1_200))
          assert.strictEqual(yield* refusal(port.removeTotp(credential)), "403 reauthentication_required")
        })
    )
  })

/** The contract for a server where TOTP, WebAuthn, passkeys, recovery codes and recovery by link are disabled. */
export const idpBareContract = (name: string, idp: IdPUnderTest, port: Layer.Layer<IdP>) =>
  layer(port, { excludeTestServices: true, timeout: 60_000 })(name, (it) => {
    it.effect("reports that a method is disabled", () =>
      Effect.gen(function* () {
        const port = yield* IdP
        const person = yield* Effect.promise(() => makePerson(idp))
        const credential = yield* Effect.promise(() => cookieOf(idp, person))
        const { session } = yield* port.session(credential)
        assert.strictEqual(session.aal, "aal1")
        const off = [
          port.beginTotp(credential),
          port.removeTotp(credential),
          port.beginWebAuthn(credential),
          port.removeWebAuthn(credential, undefined),
          port.beginRecoveryCodes(credential),
          port.beginPasskeyLogin,
          port.beginRecovery
        ]
        for (const [index, call] of off.entries()) {
          assert.strictEqual(yield* refusal<unknown, never>(call), "503 METHOD_DISABLED", String(index))
        }
        yield* port.removeRecoveryCodes(credential)
        assert.deepStrictEqual(yield* port.factors(person.id), {
          totp: false,
          webauthn: [],
          recoveryCodes: { count: 0, used: 0 }
        })
      })
    )
  })
