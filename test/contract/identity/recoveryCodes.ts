import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
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
import { enrolTotp } from "./totp.ts"

/** Recovery codes. */
export const idpRecoveryCodes = (it: Vitest.MethodsNonLive<IdP>, idp: IdPUnderTest) => {
  it.effect.each([tokenOf, cookieOf].map((signIn) => [signIn.name, signIn] as const))(
    "generates recovery codes, valid once each after confirmation (%s)",
    ([, signIn]) =>
      Effect.gen(function* () {
        const port = yield* IdP
        const person = yield* Effect.promise(() => makePerson(idp))
        const credential = yield* Effect.promise(() => signIn(idp, person))
        const counted = Effect.map(port.factors(person.id), ({ recoveryCodes }) => recoveryCodes)
        const use = (code: string) =>
          Effect.promise(async () => {
            const one = await signIn(idp, person)
            const body = { method: "lookup_secret", lookup_secret: code }
            return showFactor(idp, one, body).then(
              () => true,
              () => false
            )
          })
        yield* enrolTotp(credential)
        assert.deepStrictEqual(yield* counted, { count: 0, used: 0 })
        yield* port.removeRecoveryCodes(credential)
        const first = yield* port.beginRecoveryCodes(credential)
        assert.lengthOf(first.codes, 12)
        assert.isTrue(first.codes.every((code) => /^[a-z0-9]{8}$/.test(code)))
        assert.strictEqual(new Set(first.codes).size, 12)
        assert.deepStrictEqual(yield* counted, { count: 0, used: 0 })
        assert.isFalse(yield* use(first.codes[0]!))
        checkCookies(credential, yield* port.confirmRecoveryCodes(credential, first.flowId), "confirm")
        assert.deepStrictEqual(yield* counted, { count: 12, used: 0 })
        assert.isTrue(yield* use(first.codes[0]!))
        assert.isFalse(yield* use(first.codes[0]!))
        assert.isFalse(yield* use("aaaaaaaa"))
        assert.deepStrictEqual(yield* counted, { count: 12, used: 1 })

        const second = yield* port.beginRecoveryCodes(credential)
        assert.isTrue(yield* use(first.codes[1]!), "the old ones are good until then")
        assert.isFalse(yield* use(second.codes[0]!))
        yield* port.confirmRecoveryCodes(credential, second.flowId)
        assert.deepStrictEqual(yield* counted, { count: 12, used: 0 })
        assert.isFalse(yield* use(first.codes[2]!))
        assert.isTrue(yield* use(second.codes[2]!))
        checkCookies(credential, yield* port.removeRecoveryCodes(credential), "remove")
        assert.deepStrictEqual(yield* counted, { count: 0, used: 0 })
        assert.isFalse(yield* use(second.codes[3]!))
        yield* port.removeRecoveryCodes(credential)
      })
  )

  it.effect("only confirms codes that were generated in the flow", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const mine = yield* Effect.promise(async () => tokenOf(idp, await makePerson(idp)))
      const theirs = yield* Effect.promise(async () => cookieOf(idp, await makePerson(idp)))
      const totp = yield* port.beginTotp(mine)
      assert.strictEqual(
        yield* refusal(port.confirmRecoveryCodes(mine, totp.flowId)),
        "409 RECOVERY_CODES_NOT_GENERATED"
      )
      const foreign = yield* port.beginRecoveryCodes(theirs)
      assert.strictEqual(yield* refusal(port.confirmRecoveryCodes(mine, foreign.flowId)), "403 FLOW_FORBIDDEN")
      for (const id of [unknownId, "x", "", `${foreign.flowId}#`]) {
        assert.strictEqual(yield* refusal(port.confirmRecoveryCodes(mine, id)), "404 FLOW_NOT_FOUND", id)
      }
      yield* port.confirmRecoveryCodes(theirs, foreign.flowId)
      assert.strictEqual(
        yield* refusal(port.confirmRecoveryCodes(theirs, foreign.flowId)),
        "409 RECOVERY_CODES_NOT_GENERATED"
      )
    })
  )

  it.effect("keeps one complete set when two are generated concurrently", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const one = yield* Effect.promise(() => tokenOf(idp, person))
      const two = yield* Effect.promise(() => cookieOf(idp, person))
      const make = (credential: typeof one) =>
        Effect.flatMap(port.beginRecoveryCodes(credential), ({ flowId }) =>
          port.confirmRecoveryCodes(credential, flowId)
        )
      const results = yield* Effect.all([refusal(make(one)), refusal(make(two))], { concurrency: "unbounded" })
      assert.include(results, "ok")
      assert.deepStrictEqual(
        results.filter((result) => !["ok", "403 aal2_required", "409 CONFLICT"].includes(result)),
        []
      )
      assert.deepStrictEqual((yield* port.factors(person.id)).recoveryCodes, { count: 12, used: 0 })
    })
  )
}
