import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { IdP } from "../../../src/services/ports/IdP.ts"
import { Authenticator } from "../../support/identity/authenticator.ts"
import {
  cookieOf,
  type IdPUnderTest,
  makePerson,
  showKey,
  tokenOf,
  checkCookies,
  unknownId
} from "../../support/identity/idp.ts"
import { refusal } from "../../support/refusals.ts"

interface Options {
  readonly challenge: string
  readonly rp: { readonly id: string; readonly name: string }
  readonly user: { readonly id: string }
  readonly excludeCredentials: ReadonlyArray<unknown>
}

const bytes = (id: string) => new Uint8Array(Buffer.from(id, "base64url"))

/** Security keys. */
export const idpWebAuthn = (it: Vitest.MethodsNonLive<IdP>, idp: IdPUnderTest) => {
  it.effect.each([tokenOf, cookieOf].map((signIn) => [signIn.name, signIn] as const))(
    "registers and removes security keys (%s)",
    ([, signIn]) =>
      Effect.gen(function* () {
        const port = yield* IdP
        const person = yield* Effect.promise(() => makePerson(idp))
        const credential = yield* Effect.promise(() => signIn(idp, person))
        const key = new Authenticator(idp.origin)
        // All of none is done, and keeps the sign-in.
        yield* port.removeWebAuthn(credential, undefined)
        assert.deepStrictEqual((yield* port.factors(person.id)).webauthn, [])
        const begun = yield* port.beginWebAuthn(credential)
        const options = begun.options.publicKey as Options
        assert.match(options.challenge, /^[\w-]{20,}$/)
        assert.isString(options.rp.id)
        assert.deepStrictEqual(options.excludeCredentials, [])
        checkCookies(
          credential,
          yield* port.confirmWebAuthn(credential, begun.flowId, key.create(options), " Blue é "),
          "confirm"
        )
        const first = key.lastId
        const [registered] = (yield* port.factors(person.id)).webauthn
        assert.strictEqual(registered?.id, first)
        assert.strictEqual(registered?.displayName, "Blue é")
        assert.closeTo(Date.parse(registered?.addedAt ?? ""), Date.now(), 60_000)
        assert.strictEqual((yield* port.session(credential)).session.aal, "aal2")

        const second = yield* port.beginWebAuthn(credential)
        const excluding = second.options.publicKey as Options
        assert.deepStrictEqual(excluding.excludeCredentials, [{ type: "public-key", id: first }])
        assert.throws(() => key.create(excluding), "InvalidStateError")
        const other = new Authenticator(idp.origin)
        yield* port.confirmWebAuthn(credential, second.flowId, other.create(excluding), "")
        assert.sameMembers(
          (yield* port.factors(person.id)).webauthn.map(({ displayName }) => displayName),
          ["Blue é", "Security Key"]
        )

        const later = yield* Effect.promise(() => signIn(idp, person))
        assert.strictEqual(yield* refusal(port.session(later)), "403 aal2_required")
        yield* Effect.promise(() => showKey(idp, later, other, person))
        assert.strictEqual((yield* port.session(later)).session.aal, "aal2")

        assert.strictEqual(
          yield* refusal(port.removeWebAuthn(credential, new Uint8Array([1, 2, 3]))),
          "404 WEBAUTHN_NOT_FOUND"
        )
        checkCookies(credential, yield* port.removeWebAuthn(credential, bytes(first)), "remove")
        assert.strictEqual(yield* refusal(port.removeWebAuthn(credential, bytes(first))), "404 WEBAUTHN_NOT_FOUND")
        assert.deepStrictEqual(
          (yield* port.factors(person.id)).webauthn.map(({ id }) => id),
          [other.lastId]
        )
        const third = yield* port.beginWebAuthn(credential)
        yield* port.confirmWebAuthn(credential, third.flowId, key.create(third.options.publicKey), "Third")
        assert.lengthOf((yield* port.factors(person.id)).webauthn, 2)
        yield* port.removeWebAuthn(credential, undefined)
        assert.deepStrictEqual((yield* port.factors(person.id)).webauthn, [])
        assert.strictEqual((yield* port.session(yield* Effect.promise(() => signIn(idp, person)))).session.aal, "aal1")
      })
  )

  it.effect("rejects keys that can't be verified", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const credential = yield* Effect.promise(() => tokenOf(idp, person))
      const { flowId, options } = yield* port.beginWebAuthn(credential)
      const publicKey = options.publicKey as Options
      const key = new Authenticator(idp.origin)
      const good = key.create(publicKey)
      const parts = JSON.parse(good) as { readonly id: string; readonly response: Record<string, string> }
      const changed = (response: Record<string, unknown>) =>
        JSON.stringify({ ...parts, response: { ...parts.response, ...response } })
      const bad = {
        origin: new Authenticator("http://elsewhere.example").create(publicKey),
        challenge: key.create({ ...publicKey, challenge: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
        rpId: key.create({ ...publicKey, rp: { id: "elsewhere.example" } }),
        type: JSON.stringify({ ...parts, type: "password" }),
        noCbor: changed({ attestationObject: "AAAA" }),
        noAttestation: changed({ attestationObject: undefined }),
        noClientData: changed({ clientDataJSON: "AAAA" }),
        empty: "",
        object: "{}",
        array: "[]",
        text: "nothing",
        number: "1",
        null: "null"
      }
      for (const [name, attestation] of Object.entries(bad)) {
        const call = port.confirmWebAuthn(credential, flowId, attestation, "Key")
        assert.strictEqual(yield* refusal(call), "400 INVALID_WEBAUTHN", name)
      }
      for (const name of ["a\u0000b", "a\nb", "x".repeat(201)]) {
        const call = port.confirmWebAuthn(credential, flowId, good, name)
        assert.strictEqual(yield* refusal(call), "400 INVALID_REQUEST", JSON.stringify(name))
      }
      assert.deepStrictEqual((yield* port.factors(person.id)).webauthn, [])
      // The flow is still usable after these refusals.
      yield* port.confirmWebAuthn(credential, flowId, good, "Key")
      assert.strictEqual(yield* refusal(port.confirmWebAuthn(credential, flowId, good, "Key")), "409 WEBAUTHN_EXISTS")
      // The flow has another challenge now.
      const next = yield* port.beginWebAuthn(credential)
      const late = new Authenticator(idp.origin).create(publicKey)
      assert.strictEqual(yield* refusal(port.confirmWebAuthn(credential, flowId, late, "Key")), "400 INVALID_WEBAUTHN")
      assert.strictEqual(
        yield* refusal(port.confirmWebAuthn(credential, next.flowId, late, "Key")),
        "400 INVALID_WEBAUTHN"
      )
      assert.lengthOf((yield* port.factors(person.id)).webauthn, 1)
    })
  )

  it.effect("separates the flows of two users", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const mine = yield* Effect.promise(async () => tokenOf(idp, await makePerson(idp)))
      const theirs = yield* Effect.promise(async () => cookieOf(idp, await makePerson(idp)))
      const begun = yield* port.beginWebAuthn(theirs)
      const good = new Authenticator(idp.origin).create(begun.options.publicKey)
      assert.strictEqual(yield* refusal(port.confirmWebAuthn(mine, begun.flowId, good, "Key")), "403 FLOW_FORBIDDEN")
      for (const id of [unknownId, "x"]) {
        assert.strictEqual(yield* refusal(port.confirmWebAuthn(mine, id, good, "Key")), "404 FLOW_NOT_FOUND", id)
      }
      yield* port.confirmWebAuthn(theirs, begun.flowId, good, "Key")
    })
  )

  it.effect("registers a key once when it is confirmed twice concurrently", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const credential = yield* Effect.promise(() => cookieOf(idp, person))
      const begun = yield* port.beginWebAuthn(credential)
      const good = new Authenticator(idp.origin).create(begun.options.publicKey)
      const confirm = refusal(port.confirmWebAuthn(credential, begun.flowId, good, "Key"))
      const results = yield* Effect.all([confirm, confirm, confirm], { concurrency: "unbounded" })
      const fine = new Set([
        "ok",
        "409 CONFLICT",
        "409 WEBAUTHN_EXISTS",
        "400 INVALID_WEBAUTHN",
        "410 FLOW_EXPIRED",
        "403 aal2_required"
      ])
      assert.include(results, "ok")
      assert.deepStrictEqual(
        results.filter((result) => !fine.has(result)),
        []
      )
      assert.lengthOf((yield* port.factors(person.id)).webauthn, 1)
    })
  )
}
