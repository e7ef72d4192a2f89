import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { Accounts } from "../../../src/services/ports/identity/Accounts.ts"
import { embeddedUnderTest } from "../../support/identity/embedded.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { Outside } from "../../support/database.ts"

const { run } = embeddedUnderTest("administrator")
const sqlOf = (text: string) => Effect.flatMap(Outside, ({ sql }) => sql(text))
const admin = Effect.flatMap(Accounts, ({ admin }) => admin)
const first = Effect.map(admin, ({ first }) => first)
const link = async () => {
  const path = await run(Effect.flatMap(first, ({ link }) => link))
  const query = new URL(path ?? "/none", "http://localhost").searchParams
  return { path, flow: query.get("flow") ?? "", token: query.get("token") ?? "" }
}
const password = "four common words"
const claim = (flow: string, token: string, email = freshEmail(), chosen = password) =>
  run(
    Effect.flatMap(first, ({ claim }) => claim(flow, token, { email, password: chosen })).pipe(
      Effect.match({ onFailure: ({ code }) => code, onSuccess: ({ session }) => session?.identity.metadata_public })
    )
  )

// One after the other: each test ends with what the next one begins with.
describe("the link of the first administrator", () => {
  it("is valid for its flow and token only, until it expires, and not after a newer one", async () => {
    const old = await link()
    const now = await link()
    assert.strictEqual(await claim(old.flow, old.token), "LINK_EXPIRED")
    assert.strictEqual(await claim(now.flow, old.token), "LINK_EXPIRED")
    assert.strictEqual(await claim("no flow", now.token), "LINK_EXPIRED")
    await run(sqlOf("update svc.identity_flows set expires_at = now() - interval '1 s'"))
    assert.strictEqual(await claim(now.flow, now.token), "LINK_EXPIRED")
  })

  it("is not used up by a mistake, and then makes one administrator, once", async () => {
    const { flow, token } = await link()
    assert.strictEqual(await claim(flow, token, "no address"), "INVALID_REQUEST")
    assert.strictEqual(await claim(flow, token, freshEmail(), "short"), "INVALID_PASSWORD")
    const all = await Promise.all(Array.from({ length: 4 }, () => claim(flow, token)))
    assert.lengthOf(
      all.filter((one) => typeof one === "object"),
      1
    )
    assert.lengthOf(
      all.filter((one) => one === "LINK_EXPIRED"),
      3
    )
  })

  it("is void, and no other is made, once there is an administrator", async () => {
    assert.isUndefined((await link()).path)
    await run(sqlOf("delete from svc.identities"))
    const { flow, token } = await link()
    const made = await run(
      Effect.flatMap(admin, ({ create }) =>
        create({ email: freshEmail(), traits: {}, metadataPublic: { svc_role: "admin" } })
      )
    )
    assert.strictEqual(await claim(flow, token), "LINK_EXPIRED")
    await run(Effect.flatMap(admin, ({ remove }) => remove(made.id)))
    const person = await run(
      Effect.flatMap(admin, ({ create }) => create({ email: freshEmail(), traits: {}, password }))
    )
    const calls = await run(Effect.flatMap(Accounts, ({ calls }) => calls))
    const { credential } = await run(
      calls.signIn({ identifier: String(person.traits["email"]), password, kind: "Cookie" })
    )
    const { session } = await run(Effect.flatMap(first, ({ claim }) => claim(flow, token, { credential })))
    assert.deepStrictEqual(
      [session?.identity.id, session?.identity.metadata_public],
      [person.id, { svc_role: "admin" }]
    )
  })
})
