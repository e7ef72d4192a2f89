import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { callback, fresh, knock, party, type TestServer } from "../../support/oauth2/oauth2.ts"
import { refusal } from "../../support/refusals.ts"

const parsed = (text: string) => JSON.parse(text) as Readonly<Record<string, unknown>>

/** Registered applications. */
export const oauth2Clients = (it: Vitest.MethodsNonLive<OAuth2>, server: TestServer) => {
  it.effect("registers, shows and removes clients", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const client_id = fresh("shop")
      const fields = {
        client_id,
        client_name: "Shöp",
        redirect_uris: [callback],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        scope: "openid email",
        audience: ["https://api.example.com"],
        allowed_cors_origins: ["https://shop.example.com"],
        logo_uri: "https://shop.example.com/l.png",
        tos_uri: "",
        token_endpoint_auth_method: "client_secret_post",
        metadata: { a: 1 }
      }
      const { client, secret } = yield* port.createClient(fields)
      assert.isAbove(secret?.length ?? 0, 15)
      const { created_at, updated_at, ...shown } = client
      assert.closeTo(Date.parse(created_at ?? ""), Date.now(), 60_000)
      assert.match(updated_at ?? "", /\.\d{3}Z$/)
      assert.deepStrictEqual(shown, {
        ...fields,
        policy_uri: "",
        post_logout_redirect_uris: [],
        skip_consent: false
      })
      const { updated_at: _, ...read } = yield* port.client(client_id)
      assert.deepStrictEqual(read, { ...shown, created_at })
      assert.strictEqual(yield* refusal(port.createClient(fields)), "409 CLIENT_EXISTS")
      yield* port.removeClient(client_id)
      assert.strictEqual(yield* refusal(port.client(client_id)), "404 CLIENT_NOT_FOUND")
      assert.strictEqual(yield* refusal(port.removeClient(client_id)), "404 CLIENT_NOT_FOUND")
    })
  )

  it.effect("issues a secret to confidential clients", () =>
    Effect.gen(function* () {
      const { createClient } = yield* OAuth2
      const open = yield* createClient({ redirect_uris: [callback], token_endpoint_auth_method: "none" })
      assert.isNull(open.secret)
      const chosen = fresh("a-secret-of-ours")
      const own = yield* createClient({ redirect_uris: [callback], client_secret: chosen })
      assert.strictEqual(own.secret, chosen)
      assert.strictEqual(own.client.token_endpoint_auth_method, "client_secret_basic")
      assert.strictEqual(yield* knock(server, { client: own.client, secret: chosen }), 200)
    })
  )

  it.effect.each([
    { redirect_uris: ["http://127.0.0.1:5555/#part"] },
    { redirect_uris: ["nowhere"] },
    { redirect_uris: "http://127.0.0.1:5555/" },
    { scope: 5 },
    { logo_uri: "ftp://shop.example.com" },
    { client_secret: "short" },
    { token_endpoint_auth_method: "private_key_jwt" },
    { redirect_uris: [callback], post_logout_redirect_uris: ["https://other.example.com/"] },
    { client_name: "a\u0000b" },
    { metadata: { "\ud800": 1 } },
    { metadata: ["no", "object"] },
    { metadata: "text" }
  ])("does not register %j", (fields) =>
    Effect.gen(function* () {
      const { createClient } = yield* OAuth2
      assert.strictEqual(yield* refusal(createClient(fields)), "400 INVALID_CLIENT")
    })
  )

  it.effect("lists clients in pages", () =>
    Effect.gen(function* () {
      const { clients } = yield* OAuth2
      const made = [yield* party(), yield* party(), yield* party()].map(({ client }) => client.client_id)
      const seen: Array<string> = []
      let pageToken: string | undefined
      do {
        const page: Effect.Success<ReturnType<typeof clients>> = yield* clients({
          pageSize: 2,
          ...(pageToken === undefined ? {} : { pageToken })
        })
        assert.isAtMost(page.clients.length, 2)
        seen.push(...page.clients.map(({ client_id }) => client_id))
        pageToken = page.next ?? undefined
      } while (pageToken !== undefined)
      assert.lengthOf(new Set(seen), seen.length)
      assert.includeMembers(seen, made)
      for (const pageToken of ["x", "é\r\n", "", "%zz"]) {
        assert.strictEqual(yield* refusal(clients({ pageSize: 2, pageToken })), "400 INVALID_PAGE_TOKEN", pageToken)
      }
    })
  )

  it.effect.each(["", ".", "..", "a/b", "no such", "é", "\u0000", "%2e%2e", "x?y=z#a"])("has no client %j", (id) =>
    hasNone(id)
  )
  it.effect("has no client of 3,000 letters", () => hasNone("z".repeat(3_000)))

  it.effect.each(["a/b", "with space", "é~1%2F", "x?y=z#a", "a\\b", ":;@&=+$,"])("preserves the client id %j", (tail) =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const client_id = fresh(tail)
      const made = port.createClient({ client_id, redirect_uris: [callback] })
      // RFC 6749 A.1 allows only ASCII; a server may insist on that.
      const refused = yield* Effect.catchTag(Effect.asVoid(made), "InvalidRequest", ({ code }) => Effect.succeed(code))
      if (refused !== undefined && /[^ -~]/.test(tail)) return assert.strictEqual(refused, "INVALID_CLIENT")
      assert.strictEqual((yield* port.client(client_id)).client_id, client_id)
      assert.deepStrictEqual((yield* port.mergeClientMetadata(client_id, { a: 1 })).metadata, { a: 1 })
      yield* port.removeClient(client_id)
      assert.strictEqual(yield* refusal(port.client(client_id)), "404 CLIENT_NOT_FOUND")
    })
  )

  it.effect("merges metadata", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const { client } = yield* party({ metadata: { kept: { deep: [1] }, changed: 1, removed: true } })
      const id = client.client_id
      const merge = (metadata: Readonly<Record<string, unknown>>) =>
        Effect.map(port.mergeClientMetadata(id, metadata), (answer) => answer.metadata)
      const one = yield* merge({ changed: { now: "other" }, removed: null, "never there": null, skip_consent: true })
      assert.deepStrictEqual(one, { kept: { deep: [1] }, changed: { now: "other" }, skip_consent: true })
      assert.deepStrictEqual(yield* merge({}), one)
      assert.deepStrictEqual(yield* merge({ "never there": null, constructor: null, toString: null }), one)
      const all = yield* merge({ kept: null, changed: null, skip_consent: null })
      assert.deepStrictEqual(all, {})
      const after = yield* port.client(id)
      assert.deepStrictEqual(after.metadata, {})
      // Only the metadata has changed.
      assert.deepStrictEqual({ ...after, metadata: {}, updated_at: "" }, { ...client, metadata: {}, updated_at: "" })
    })
  )

  it.effect("replaces fields, together with metadata", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const old = yield* party({ metadata: { a: 1, b: 2 } })
      const fields = {
        client_name: "Other ✓",
        redirect_uris: [callback, `${callback}/two`],
        scope: "openid",
        allowed_cors_origins: ["https://app.example.com"]
      }
      const changed = yield* port.mergeClientMetadata(old.client.client_id, { a: null, c: 3 }, fields)
      const expected = { ...old.client, ...fields, metadata: { b: 2, c: 3 }, updated_at: "" }
      assert.deepStrictEqual({ ...changed, updated_at: "" }, expected)
      assert.deepStrictEqual({ ...(yield* port.client(old.client.client_id)), updated_at: "" }, expected)
      assert.strictEqual(yield* knock(server, old), 200, "a change leaves the secret")
      assert.strictEqual(
        yield* refusal(port.mergeClientMetadata(old.client.client_id, {}, { redirect_uris: ["https://a.example/#b"] })),
        "400 INVALID_CLIENT"
      )
    })
  )

  it.effect("preserves unusual names and values in metadata", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const { client } = yield* party()
      const odd = parsed(
        `{"a/b~c":1,"~1":2,"~0":"t","":"empty","é ✓ 😀":{"x":[null,{"__proto__":1}]},"__proto__":{"p":1},"constructor":"c","-":3,"0":4,"a.b":5,"\\u2028":6,"x\\u0001y":7}`
      )
      const kept = yield* port.mergeClientMetadata(client.client_id, odd)
      assert.strictEqual(JSON.stringify(sorted(kept.metadata)), JSON.stringify(sorted(odd)))
      const names = Object.keys(odd)
      const none = Object.fromEntries(names.map((name) => [name, null]))
      assert.sameMembers(Object.keys(none), names)
      assert.deepStrictEqual((yield* port.mergeClientMetadata(client.client_id, none)).metadata, {})
      for (const bad of [{ "a\u0000": 1 }, { a: ["\u0000"] }, { "\ud800": 1 }, { a: { b: "\udc00" } }, tooDeep()]) {
        assert.strictEqual(
          yield* refusal(port.mergeClientMetadata(client.client_id, bad)),
          "400 INVALID_CLIENT",
          JSON.stringify(bad).slice(0, 50)
        )
      }
    })
  )

  it.effect("merges the metadata of a client with a JWKS URL", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const { client } = yield* party({
        token_endpoint_auth_method: "private_key_jwt",
        jwks_uri: "https://shop.example.com/jwks.json"
      })
      const { metadata } = yield* port.mergeClientMetadata(client.client_id, { a: 1 })
      assert.deepStrictEqual(metadata, { a: 1 })
      assert.strictEqual(yield* refusal(port.rotateSecret(client.client_id)), "400 CLIENT_WITHOUT_SECRET")
    })
  )

  it.effect("generates a new secret for a client", () =>
    Effect.gen(function* () {
      const port = yield* OAuth2
      const old = yield* party({ metadata: { a: 1 } })
      const { client, secret } = yield* port.rotateSecret(old.client.client_id)
      assert.deepStrictEqual({ ...client, updated_at: "" }, { ...old.client, updated_at: "" })
      assert.strictEqual(yield* knock(server, old), 401)
      assert.strictEqual(yield* knock(server, { client, secret }), 200)
      yield* port.mergeClientMetadata(client.client_id, { b: 2 })
      assert.strictEqual(yield* knock(server, { client, secret }), 200, "a change of metadata leaves the secret")
      const open = yield* party({ token_endpoint_auth_method: "none" })
      assert.strictEqual(yield* refusal(port.rotateSecret(open.client.client_id)), "400 CLIENT_WITHOUT_SECRET")
    })
  )
}

const hasNone = (id: string) =>
  Effect.gen(function* () {
    const port = yield* OAuth2
    const all = [port.client(id), port.removeClient(id), port.mergeClientMetadata(id, { a: 1 }), port.rotateSecret(id)]
    for (const [index, call] of all.entries()) {
      assert.strictEqual(yield* refusal<unknown, never>(call), "404 CLIENT_NOT_FOUND", String(index))
    }
  })

const sorted = (value: Readonly<Record<string, unknown>>) =>
  Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))

const tooDeep = () => {
  let value: unknown = 1
  for (let depth = 0; depth < 100; depth++) value = [value]
  return { value }
}
