import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { isIP } from "node:net"
import { IdP } from "../../../src/services/ports/IdP.ts"
import {
  cookie,
  cookieOf,
  deletePerson,
  type IdPUnderTest,
  loginPageOf,
  makePerson,
  setState,
  showFactor,
  token,
  tokenOf,
  unknownId
} from "../../support/identity/idp.ts"
import { refusal } from "../../support/refusals.ts"
import { enrolTotp } from "./totp.ts"

/** Sessions: reading, listing and ending them. */
export const idpSessions = (it: Vitest.MethodsNonLive<IdP>, idp: IdPUnderTest) => {
  it.effect("returns the session of a token or a cookie", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() =>
        makePerson(idp, { name: "Zoë \u{1F600}", metadata_public: { svc_role: "admin" } })
      )
      const byToken = yield* port.session(yield* Effect.promise(() => tokenOf(idp, person)))
      const byCookie = yield* port.session(yield* Effect.promise(() => cookieOf(idp, person)))
      for (const { session } of [byToken, byCookie]) {
        assert.strictEqual(session.identity.id, person.id)
        assert.strictEqual(session.identity.state, "active")
        assert.strictEqual(session.identity.schema_id, "default")
        assert.deepStrictEqual(session.identity.traits, { email: person.email, name: "Zoë \u{1F600}" })
        assert.deepStrictEqual(session.identity.metadata_public, { svc_role: "admin" })
        assert.deepStrictEqual(session.identity.addresses, [{ value: person.email, verified: false }])
        assert.strictEqual(session.aal, "aal1")
        assert.deepStrictEqual(session.methods, ["password"])
        assert.closeTo(Date.parse(session.authenticated_at), Date.now(), 60_000)
        assert.closeTo(Date.parse(session.issued_at), Date.now(), 60_000)
        assert.isAbove(Date.parse(session.expires_at), Date.now())
        assert.closeTo(Date.parse(session.identity.created_at ?? ""), Date.now(), 60_000)
      }
      assert.notStrictEqual(byToken.session.id, byCookie.session.id)
      assert.deepStrictEqual(byToken.cookies, [])
    })
  )

  it.effect("returns 401 for an invalid credential", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const values = ["", "x", "ory_st_0123456789abcdef0123456789abcdef", "a b", "a;b=c", "a\nb", "é", "x".repeat(4097)]
      for (const value of values) {
        for (const credential of [token(value), cookie(value)]) {
          const label = `${credential._tag} ${JSON.stringify(value.slice(0, 50))}`
          assert.strictEqual(yield* refusal(port.session(credential)), "401 UNAUTHENTICATED", label)
          assert.strictEqual(yield* refusal(port.sessions(credential)), "401 UNAUTHENTICATED", label)
          assert.strictEqual(yield* refusal(port.logout(credential)), "401 UNAUTHENTICATED", label)
          assert.strictEqual(yield* refusal(port.beginTotp(credential)), "401 UNAUTHENTICATED", label)
        }
      }
      // A valid value of the other kind is invalid.
      const person = yield* Effect.promise(() => makePerson(idp))
      const good = yield* Effect.promise(() => tokenOf(idp, person))
      assert.strictEqual(yield* refusal(port.session({ ...good, _tag: "Cookie" })), "401 UNAUTHENTICATED")
    })
  )

  it.effect("ends a session, once", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      for (const signIn of [tokenOf, cookieOf]) {
        const one = yield* Effect.promise(() => signIn(idp, person))
        const other = yield* Effect.promise(() => signIn(idp, person))
        yield* port.logout(one)
        assert.strictEqual(yield* refusal(port.session(one)), "401 UNAUTHENTICATED")
        // For a token that was valid once, the server may return success again.
        assert.include(["ok", "401 UNAUTHENTICATED"], yield* refusal(port.logout(one)))
        yield* port.session(other)
      }
    })
  )

  it.effect("ends the sessions of deleted and inactive identities", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const off = yield* Effect.promise(() => makePerson(idp))
      const gone = yield* Effect.promise(() => makePerson(idp))
      const ofOff = yield* Effect.promise(() => tokenOf(idp, off))
      const ofDeleted = yield* Effect.promise(() => tokenOf(idp, gone))
      yield* Effect.promise(() => setState(idp, off, "inactive"))
      yield* Effect.promise(() => deletePerson(idp, gone))
      assert.strictEqual(yield* refusal(port.session(ofOff)), "401 UNAUTHENTICATED")
      assert.strictEqual(yield* refusal(port.session(ofDeleted)), "401 UNAUTHENTICATED")
      assert.strictEqual((yield* port.identity(off.id)).state, "inactive")
    })
  )

  it.effect("lists the sessions of an identity, the current one first, and ends others", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const stranger = yield* Effect.promise(() => makePerson(idp))
      const first = yield* Effect.promise(() => tokenOf(idp, person))
      const second = yield* Effect.promise(() => cookieOf(idp, person))
      const third = yield* Effect.promise(() => tokenOf(idp, person))
      const ids = yield* Effect.forEach([first, second, third], (one) =>
        Effect.map(port.session(one), ({ session }) => session.id)
      )
      const foreign = (yield* port.session(yield* Effect.promise(() => tokenOf(idp, stranger)))).session.id
      for (const [index, one] of [first, second].entries()) {
        const listed = yield* port.sessions(one)
        assert.strictEqual(listed[0]?.id, ids[index])
        assert.deepStrictEqual(
          listed.map(({ current }) => current),
          [true, false, false]
        )
        assert.sameMembers(
          listed.map(({ id }) => id),
          ids
        )
        assert.isTrue(listed.every(({ aal, devices }) => aal === "aal1" && isIP(devices[0]?.ip_address ?? "") > 0))
        assert.strictEqual(listed[0]?.devices[0]?.user_agent, "node")
        assert.isTrue(listed.every(({ expires_at }) => Date.parse(expires_at) > Date.now()))
      }
      for (const id of [unknownId, foreign, ids[0]!, "x", "", "../whoami"]) {
        assert.strictEqual(yield* refusal(port.revokeSession(first, id)), "404 SESSION_NOT_FOUND", id)
      }
      yield* port.session(first)
      yield* port.revokeSession(first, ids[1]!.toUpperCase())
      assert.strictEqual(yield* refusal(port.session(second)), "401 UNAUTHENTICATED")
      assert.strictEqual(yield* refusal(port.revokeSession(first, ids[1]!)), "404 SESSION_NOT_FOUND")
      yield* port.session(third)
      assert.lengthOf(yield* port.sessions(third), 2)
      assert.strictEqual(yield* refusal(port.revokeSession(second, ids[0]!)), "401 UNAUTHENTICATED")
    })
  )

  it.effect("requires the second factor of an identity that has one", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const enrolling = yield* Effect.promise(() => tokenOf(idp, person))
      const app = yield* enrolTotp(enrolling)
      assert.strictEqual((yield* port.session(enrolling)).session.aal, "aal2")
      for (const signIn of [tokenOf, cookieOf]) {
        const half = yield* Effect.promise(() => signIn(idp, person))
        const missingFactor = yield* Effect.flip(port.session(half))
        assert.strictEqual(missingFactor._tag === "StepUpRequired" && missingFactor.code, "aal2_required")
        const url = new URL((missingFactor._tag === "StepUpRequired" && missingFactor.redirect_to) || "")
        assert.strictEqual(`${url.origin}${url.pathname}`, loginPageOf(idp))
        assert.strictEqual(url.search, "?aal=aal2")
        const calls = [
          port.sessions(half),
          port.revokeSession(half, unknownId),
          port.beginTotp(half),
          port.removeTotp(half),
          port.beginWebAuthn(half),
          port.removeWebAuthn(half, undefined),
          port.beginRecoveryCodes(half),
          port.removeRecoveryCodes(half)
        ]
        for (const [index, call] of calls.entries()) {
          assert.strictEqual(yield* refusal<unknown, never>(call), "403 aal2_required", String(index))
        }
        yield* Effect.promise(() => showFactor(idp, half, { method: "totp", totp_code: app() }))
        const { session } = yield* port.session(half)
        assert.strictEqual(session.aal, "aal2")
        assert.sameMembers([...session.methods], ["password", "totp"])
        // A session without its second factor can be ended too.
        const another = yield* Effect.promise(() => signIn(idp, person))
        yield* port.logout(another)
        assert.strictEqual(yield* refusal(port.session(another)), "401 UNAUTHENTICATED")
      }
    })
  )

  it.effect("returns the URL where a browser signs in", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const returnTo = "http://app.example/a?b=c&d=é#e"
      const plain = new URL(yield* port.loginUrl({ returnTo }))
      assert.strictEqual(`${plain.origin}${plain.pathname}`, loginPageOf(idp))
      assert.deepStrictEqual([...plain.searchParams], [["return_to", returnTo]])
      const all = new URL(yield* port.loginUrl({ returnTo, aal: "aal2", refresh: true }))
      assert.deepStrictEqual(Object.fromEntries(all.searchParams), {
        aal: "aal2",
        refresh: "true",
        return_to: returnTo
      })
    })
  )

  it.effect("is ready", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      assert.isTrue(port.configured)
      assert.isTrue(yield* port.ready)
    })
  )

  it.effect("sends a cookie's value unchanged", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const good = yield* Effect.promise(() => cookieOf(idp, person))
      const value = Redacted.value(good.value)
      yield* port.session(cookie(value))
      assert.strictEqual(yield* refusal(port.session(cookie(`${value}x`))), "401 UNAUTHENTICATED")
      assert.strictEqual(yield* refusal(port.session(cookie(value.slice(0, -8)))), "401 UNAUTHENTICATED")
    })
  )
}
