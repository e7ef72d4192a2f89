import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type Credential } from "../../../src/domain/identity/Identity.ts"
import { IdP } from "../../../src/services/ports/IdP.ts"
import {
  cookieOf,
  type IdPUnderTest,
  makePerson,
  showFactor,
  tokenOf,
  checkCookies,
  unknownId
} from "../../support/identity/idp.ts"
import { refusal } from "../../support/refusals.ts"
import { nextTotpCode, totpCode, wrongTotpCode } from "../../support/identity/totp.ts"

/** Sets up an authenticator app; returns its next code each time, for each is valid once. */
export const enrolTotp = (credential: Credential) =>
  Effect.gen(function* () {
    const port = yield* IdP
    const { flowId, secret } = yield* port.beginTotp(credential)
    yield* port.confirmTotp(credential, flowId, totpCode(Redacted.value(secret), Date.now() - 30_000))
    let step = 0
    return () => totpCode(Redacted.value(secret), Date.now() + 30_000 * step++)
  })

/** Authenticator apps. */
export const idpTotp = (it: Vitest.MethodsNonLive<IdP>, idp: IdPUnderTest) => {
  it.effect.each([tokenOf, cookieOf].map((signIn) => [signIn.name, signIn] as const))(
    "sets up and removes an authenticator app (%s)",
    ([, signIn]) =>
      Effect.gen(function* () {
        const port = yield* IdP
        const person = yield* Effect.promise(() => makePerson(idp))
        const credential = yield* Effect.promise(() => signIn(idp, person))
        // There is none to remove, which is done.
        yield* port.removeTotp(credential)
        assert.isFalse((yield* port.factors(person.id)).totp)
        const { flowId, issuer, secret } = yield* port.beginTotp(credential)
        assert.match(Redacted.value(secret), /^[A-Z2-7]{32}$/)
        assert.strictEqual(issuer, new URL(idp.publicUrl).hostname)
        const confirm = (code: string) => port.confirmTotp(credential, flowId, code)
        for (const code of ["", "12345", "1234567", "abcdef", "12 456", "１２３４５６"]) {
          assert.strictEqual(yield* refusal(confirm(code)), "400 INVALID_CODE", code)
        }
        assert.strictEqual(yield* refusal(confirm(wrongTotpCode(Redacted.value(secret)))), "400 INVALID_CODE")
        assert.isFalse((yield* port.factors(person.id)).totp)
        assert.strictEqual((yield* port.session(credential)).session.aal, "aal1")
        const other = yield* port.beginTotp(credential)
        checkCookies(credential, yield* confirm(totpCode(Redacted.value(secret))), "confirm")
        assert.isTrue((yield* port.factors(person.id)).totp)
        assert.strictEqual((yield* port.session(credential)).session.aal, "aal2")
        // The server would now accept any code, in any flow.
        assert.strictEqual(yield* refusal(port.beginTotp(credential)), "409 TOTP_EXISTS")
        assert.strictEqual(yield* refusal(confirm("000000")), "409 TOTP_EXISTS")
        assert.strictEqual(
          yield* refusal(port.confirmTotp(credential, other.flowId, totpCode(Redacted.value(other.secret)))),
          "409 TOTP_EXISTS"
        )
        const later = yield* Effect.promise(() => signIn(idp, person))
        assert.strictEqual(yield* refusal(port.session(later)), "403 aal2_required")
        const body = { method: "totp", totp_code: nextTotpCode(Redacted.value(secret)) }
        yield* Effect.promise(() => showFactor(idp, later, body))
        assert.strictEqual((yield* port.session(later)).session.aal, "aal2")
        checkCookies(credential, yield* port.removeTotp(credential), "remove")
        assert.isFalse((yield* port.factors(person.id)).totp)
        yield* port.removeTotp(credential)
        assert.strictEqual((yield* port.session(yield* Effect.promise(() => signIn(idp, person)))).session.aal, "aal1")
        // Its secret has been used up.
        assert.strictEqual(yield* refusal(confirm(totpCode(Redacted.value(secret)))), "410 FLOW_EXPIRED")
        const again = yield* port.beginTotp(credential)
        assert.notStrictEqual(Redacted.value(again.secret), Redacted.value(secret))
      })
  )

  it.effect("distinguishes unknown flows from those of other users", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const mine = yield* Effect.promise(async () => tokenOf(idp, await makePerson(idp)))
      const theirs = yield* Effect.promise(async () => cookieOf(idp, await makePerson(idp)))
      const { flowId, secret } = yield* port.beginTotp(theirs)
      const code = totpCode(Redacted.value(secret))
      assert.strictEqual(yield* refusal(port.confirmTotp(mine, flowId, code)), "403 FLOW_FORBIDDEN")
      for (const id of [unknownId, "x", "", "../login", `${flowId}&x=y`]) {
        assert.strictEqual(yield* refusal(port.confirmTotp(mine, id, code)), "404 FLOW_NOT_FOUND", id)
      }
      yield* port.logout(mine)
      assert.strictEqual(yield* refusal(port.confirmTotp(mine, flowId, code)), "401 UNAUTHENTICATED")
      yield* port.confirmTotp(theirs, flowId, code)
    })
  )

  it.effect("sets up one app when two are confirmed concurrently", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const one = yield* Effect.promise(() => tokenOf(idp, person))
      const two = yield* Effect.promise(() => cookieOf(idp, person))
      const begun = yield* Effect.forEach([one, two], (credential) =>
        Effect.map(port.beginTotp(credential), (flow) => ({ credential, flow }))
      )
      const results = yield* Effect.forEach(
        [...begun, ...begun],
        ({ credential, flow }) =>
          refusal(port.confirmTotp(credential, flow.flowId, totpCode(Redacted.value(flow.secret)))),
        { concurrency: "unbounded" }
      )
      // A confirmed flow has another secret, for which the code is wrong.
      const fine = new Set([
        "ok",
        "409 CONFLICT",
        "409 CONFLICT",
        "400 INVALID_CODE",
        "409 TOTP_EXISTS",
        "410 FLOW_EXPIRED",
        "403 aal2_required"
      ])
      assert.include(results, "ok")
      assert.deepStrictEqual(
        results.filter((result) => !fine.has(result)),
        []
      )
      assert.isTrue((yield* port.factors(person.id)).totp)
    })
  )
}
