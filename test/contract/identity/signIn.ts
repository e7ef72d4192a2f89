import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { IdP, type RelayedCookies } from "../../../src/services/ports/IdP.ts"
import { Authenticator } from "../../support/identity/authenticator.ts"
import {
  cookie,
  cookieOf,
  enrolPasskey,
  freshEmail,
  type IdPUnderTest,
  loginPageOf,
  makePerson,
  messagesTo,
  openLink,
  setState,
  showFactor,
  tokenOf,
  unknownId
} from "../../support/identity/idp.ts"
import { refusal } from "../../support/refusals.ts"
import { enrolTotp } from "./totp.ts"

/** The session of a browser with these cookies. */
const sessionIn = (cookies: RelayedCookies) => {
  assert.lengthOf(cookies, 1)
  const [name, ...value] = (cookies[0]!.split(";")[0] ?? "").split("=")
  assert.strictEqual(name, "idp_session")
  return cookie(value.join("="))
}

/** An identity with a passkey. */
const withPasskey = (idp: IdPUnderTest) =>
  Effect.promise(async () => {
    const person = await makePerson(idp)
    const key = new Authenticator(idp.origin)
    await enrolPasskey(idp, await cookieOf(idp, person), key)
    return { key, person }
  })

/** Passkeys, and account recovery by e-mail. */
export const idpSignIn = (it: Vitest.MethodsNonLive<IdP>, idp: IdPUnderTest) => {
  it.effect("signs in by passkey", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const { key, person } = yield* withPasskey(idp)
      assert.deepStrictEqual((yield* port.factors(person.id)).webauthn, [], "it is no second factor")
      const { cookies, flowId, options } = yield* port.beginPasskeyLogin
      assert.deepStrictEqual(cookies, [])
      assert.match((options.publicKey as { readonly challenge: string }).challenge, /^[\w-]{20,}$/)
      const assertion = key.get(options.publicKey)
      const done = yield* port.passkeyLogin(flowId, assertion)
      assert.isNull(done.stepUp)
      assert.strictEqual(done.session?.identity.id, person.id)
      assert.strictEqual(done.session?.aal, "aal1")
      assert.deepStrictEqual(done.session?.methods, ["passkey"])
      const { session } = yield* port.session(sessionIn(done.cookies))
      assert.strictEqual(session.id, done.session?.id)
      assert.strictEqual(yield* refusal(port.passkeyLogin(flowId, assertion)), "410 FLOW_EXPIRED")
    })
  )

  it.effect("signs in by passkey, but still requires the second factor", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const { key, person } = yield* withPasskey(idp)
      const app = yield* enrolTotp(yield* Effect.promise(() => tokenOf(idp, person)))
      const { flowId, options } = yield* port.beginPasskeyLogin
      const done = yield* port.passkeyLogin(flowId, key.get(options.publicKey))
      assert.isNull(done.session)
      assert.strictEqual(done.stepUp?.code, "aal2_required")
      assert.strictEqual(done.stepUp?.redirect_to, `${loginPageOf(idp)}?aal=aal2`)
      const half = sessionIn(done.cookies)
      assert.strictEqual(yield* refusal(port.session(half)), "403 aal2_required")
      yield* Effect.promise(() => showFactor(idp, half, { method: "totp", totp_code: app() }))
      const { session } = yield* port.session(half)
      assert.strictEqual(session.aal, "aal2")
      assert.sameMembers([...session.methods], ["passkey", "totp"])
    })
  )

  it.effect("rejects passkeys that can't be verified", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const { key, person } = yield* withPasskey(idp)
      const { flowId, options } = yield* port.beginPasskeyLogin
      const good = key.get(options.publicKey)
      const parts = JSON.parse(good) as { readonly id: string; readonly response: Record<string, string> }
      const changed = (response: Record<string, unknown>, more: Record<string, unknown> = {}) =>
        JSON.stringify({ ...parts, ...more, response: { ...parts.response, ...response } })
      const other = yield* port.beginPasskeyLogin
      const stranger = new Authenticator(idp.origin)
      const { rpId } = options.publicKey as { readonly rpId: string }
      const creation = { ...(options.publicKey as object), rp: { id: rpId }, pubKeyCredParams: [{ alg: -7 }] }
      stranger.create({ ...creation, user: { id: Buffer.from("nobody").toString("base64url") } })
      const impostor = new Authenticator(idp.origin)
      impostor.create({ ...creation, user: { id: parts.response["userHandle"]! } })
      const { signature } = (JSON.parse(key.get(options.publicKey)) as typeof parts).response
      const bad = {
        challenge: key.get(other.options.publicKey),
        signature: changed({ signature: signature! }),
        unknownUser: stranger.get(options.publicKey),
        unknownKey: impostor.get(options.publicKey),
        keyOfAnother: changed({}, { id: impostor.lastId, rawId: impostor.lastId }),
        noHandle: changed({ userHandle: undefined }),
        noSignature: changed({ signature: undefined }),
        noData: changed({ authenticatorData: "AAAA" }),
        empty: "",
        object: "{}",
        text: "nothing",
        null: "null"
      }
      for (const [name, assertion] of Object.entries(bad)) {
        assert.strictEqual(yield* refusal(port.passkeyLogin(flowId, assertion)), "401 INVALID_PASSKEY", name)
      }
      for (const id of [unknownId, "x", "", `${flowId}&a=b`]) {
        assert.strictEqual(yield* refusal(port.passkeyLogin(id, good)), "404 FLOW_NOT_FOUND", id)
      }
      const done = yield* port.passkeyLogin(flowId, good)
      assert.strictEqual(done.session?.identity.id, person.id)
      // Again, on another flow: its challenge is not the one that was signed.
      assert.strictEqual(yield* refusal(port.passkeyLogin(other.flowId, good)), "401 INVALID_PASSKEY")
    })
  )

  it.effect("does not sign in an inactive identity", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const { key, person } = yield* withPasskey(idp)
      yield* Effect.promise(() => setState(idp, person, "inactive"))
      const { flowId, options } = yield* port.beginPasskeyLogin
      assert.strictEqual(yield* refusal(port.passkeyLogin(flowId, key.get(options.publicKey))), "401 UNAUTHENTICATED")
    })
  )

  it.effect("accepts an assertion that is sent twice concurrently", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const { key } = yield* withPasskey(idp)
      const { flowId, options } = yield* port.beginPasskeyLogin
      const login = refusal(port.passkeyLogin(flowId, key.get(options.publicKey)))
      const results = yield* Effect.all([login, login, login], { concurrency: "unbounded" })
      assert.include(results, "ok")
      assert.deepStrictEqual(
        results.filter((result) => !["ok", "409 CONFLICT", "410 FLOW_EXPIRED"].includes(result)),
        []
      )
    })
  )

  it.effect("signs in many identities concurrently", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const people = yield* Effect.all([withPasskey(idp), withPasskey(idp), withPasskey(idp)], { concurrency: 3 })
      const signIns = people.map(({ key, person }) =>
        Effect.gen(function* () {
          const { flowId, options } = yield* port.beginPasskeyLogin
          const { session } = yield* port.passkeyLogin(flowId, key.get(options.publicKey))
          assert.strictEqual(session?.identity.id, person.id)
          return session?.id
        })
      )
      const ids = yield* Effect.all([...signIns, ...signIns], { concurrency: "unbounded" })
      assert.strictEqual(new Set(ids).size, 6)
    })
  )

  it.effect("sends a link to a known address, and returns the same response for an unknown one", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const flow = yield* port.beginRecovery
      assert.match(flow.id, /^[0-9a-f-]{36}$/)
      assert.isAbove(Date.parse(flow.expiresAt ?? ""), Date.now())
      yield* port.recover(flow.id, person.email)
      const unknown = yield* port.beginRecovery
      yield* port.recover(unknown.id, freshEmail())
      for (const email of ["", "nobody", "a b@c.example", "a\u0000@c.example", `${"x".repeat(250)}@c.example`]) {
        assert.strictEqual(yield* refusal(port.recover(unknown.id, email)), "400 INVALID_REQUEST", email)
      }
      for (const id of [unknownId, "x", ""]) {
        assert.strictEqual(yield* refusal(port.recover(id, person.email)), "404 FLOW_NOT_FOUND", id)
      }
      const messages = yield* Effect.promise(() => messagesTo(idp, person.email))
      assert.lengthOf(messages, 1)
      const link = /https?:\S+\/recovery\?\S+/.exec(messages[0]!)?.[0].replaceAll("&amp;", "&") ?? ""
      assert.strictEqual(new URL(link).searchParams.get("flow"), flow.id)
      // A second message may be requested before the link of the first is opened.
      yield* port.recover(flow.id, person.email)
      const cookies = yield* Effect.promise(() => openLink(idp, link))
      const { session } = yield* port.session(sessionIn(cookies))
      assert.strictEqual(session.identity.id, person.id)
      assert.strictEqual(session.aal, "aal1")
      assert.strictEqual(yield* refusal(port.recover(flow.id, person.email)), "410 FLOW_EXPIRED")
      assert.deepStrictEqual(yield* Effect.promise(() => openLink(idp, link)), [])
    })
  )
}
