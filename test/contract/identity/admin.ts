import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { IdP } from "../../../src/services/ports/IdP.ts"
import { type IdPUnderTest, makePerson, unknownId } from "../../support/identity/idp.ts"
import { refusal } from "../../support/refusals.ts"

/** Reading identities with the admin API. */
export const idpAdmin = (it: Vitest.MethodsNonLive<IdP>, idp: IdPUnderTest) => {
  it.effect("finds an identity by its id", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() =>
        makePerson(idp, { name: "N", metadata_public: { a: [1, { b: null }] } })
      )
      const identity = yield* port.identity(person.id)
      assert.deepStrictEqual(
        { ...identity, created_at: null, updated_at: null },
        {
          id: person.id,
          state: "active",
          schema_id: "default",
          traits: { email: person.email, name: "N" },
          metadata_public: { a: [1, { b: null }] },
          addresses: [{ value: person.email, verified: false }],
          created_at: null,
          updated_at: null
        }
      )
      assert.closeTo(Date.parse(identity.created_at ?? ""), Date.now(), 60_000)
      assert.deepStrictEqual(
        (yield* port.identity((yield* Effect.promise(() => makePerson(idp))).id)).metadata_public,
        {}
      )
      for (const id of [unknownId, "x", "", "../sessions", "\u0000"]) {
        assert.strictEqual(yield* refusal(port.identity(id)), "404 IDENTITY_NOT_FOUND", id)
        assert.strictEqual(yield* refusal(port.factors(id)), "404 IDENTITY_NOT_FOUND", id)
      }
    })
  )

  it.effect("lists identities in pages", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const made = yield* Effect.promise(() => Promise.all(Array.from({ length: 5 }, () => makePerson(idp))))
      const seen: Array<string> = []
      let pageToken: string | null = null
      let pages = 0
      do {
        const page: { readonly pageSize: number; readonly pageToken?: string } =
          pageToken === null ? { pageSize: 2 } : { pageSize: 2, pageToken }
        const { identities, next } = yield* port.identities(page)
        assert.isAtMost(identities.length, 2)
        seen.push(...identities.map(({ id }) => id))
        pageToken = next
      } while (pageToken !== null && ++pages < 2_000)
      assert.isAtLeast(pages, 2)
      assert.strictEqual(new Set(seen).size, seen.length)
      assert.includeMembers(
        seen,
        made.map(({ id }) => id)
      )
      const one = yield* port.identities({ pageSize: 250 })
      assert.isAtLeast(one.identities.length, 5)
    })
  )

  it.effect("finds the identity that signs in with a name", () =>
    Effect.gen(function* () {
      const port = yield* IdP
      const person = yield* Effect.promise(() => makePerson(idp))
      const found = yield* port.identities({ pageSize: 10, identifier: person.email })
      assert.deepStrictEqual(
        found.identities.map(({ id }) => id),
        [person.id]
      )
      assert.isNull(found.next)
      const none = { identities: [], next: null }
      for (const identifier of [`x${person.email}`, "%", "a&page_size=1", "", "é\u{1F600}"]) {
        const result = yield* port.identities({ pageSize: 10, identifier })
        if (identifier !== "") assert.deepStrictEqual(result, none, identifier)
      }
      assert.strictEqual(
        yield* refusal(port.identities({ pageSize: 10, identifier: "a\u0000b" })),
        "400 INVALID_REQUEST"
      )
      for (const pageToken of ["nonsense", "a\u0000b"]) {
        const refused = yield* refusal(port.identities({ pageSize: 10, pageToken }))
        assert.include(["400 INVALID_PAGE_TOKEN", "400 INVALID_REQUEST"], refused, pageToken)
      }
    })
  )
}
