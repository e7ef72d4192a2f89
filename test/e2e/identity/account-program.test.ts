import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { asMember, logIn, register, sessionCookie } from "../../support/identity/people.ts"
import { runToEnd, type Service, startService } from "../../support/service.ts"

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

const account = (...given: ReadonlyArray<string>) =>
  runToEnd({ SVC_DATA_DIR: service.dataDir }, ["dist/svc.mjs", "account", ...given])

/** Follows the link that the program printed, and sets a password. */
const follow = async (output: string) => {
  const fields = new URL(/http\S+/.exec(output)?.[0] ?? "http://none").searchParams
  const body = { flowId: fields.get("flow"), token: fields.get("token") }
  const reply = await ask(service, "POST /api/auth/recovery/confirm", { body })
  assert.strictEqual(reply.status, 200, reply.text)
  const cookie = sessionCookie(reply)
  const set = { body: { password: "four common words" } }
  assert.strictEqual((await asMember(service, cookie, "PUT /api/auth/password", set)).status, 200)
  return cookie
}

it("svc account makes the first administrator, without e-mail", async () => {
  const email = freshEmail()
  const { code, output } = await account("admin", email)
  assert.strictEqual(code, 0, output)
  const cookie = await follow(output)
  assert.strictEqual((await asMember(service, cookie, "GET /api/keys")).status, 200)
  // Again: the same account.
  assert.strictEqual((await account("admin", email.toUpperCase())).code, 0)
  assert.lengthOf(await sql(service, "select from svc.identities where metadata_public->>'svc_role' = 'admin'"), 1)
})

it("svc account gives the rights of an administrator to no stranger who has registered the address", async () => {
  const stranger = await register(service)
  const { code, output } = await account("admin", stranger.email)
  assert.strictEqual(code, 0, output)
  for (const line of ["GET /api/identities", "GET /api/auth/session"]) {
    assert.strictEqual((await asMember(service, stranger.cookie, line)).status, 401, line)
  }
  assert.strictEqual((await logIn(service, stranger.email, stranger.password)).status, 401)
  assert.strictEqual((await asMember(service, await follow(output), "GET /api/keys")).status, 200)

  const other = await register(service)
  await follow((await account("recover", other.email)).output)
  assert.strictEqual((await asMember(service, other.cookie, "GET /api/auth/session")).status, 401)
})

// Starts npm and the service's programs a dozen times.
it("svc account creates and recovers accounts, and says what is wrong", { timeout: 180_000 }, async () => {
  const email = freshEmail()
  const unknown = await account("recover", email)
  assert.deepStrictEqual([unknown.code, unknown.output], [1, `There is no account with the address ${email}\n`])
  await follow((await account("create", email)).output)
  assert.strictEqual((await logIn(service, email, "four common words")).status, 200)
  await follow((await account("recover", email)).output)
  const again = await account("create", email)
  assert.deepStrictEqual([again.code, again.output], [1, "There is an account with this address\n"])
  const invalid = await account("create", "no address")
  assert.deepStrictEqual([invalid.code, invalid.output], [1, "The e-mail address is invalid\n"])
  const exported = await account("export")
  assert.strictEqual(exported.code, 0)
  const all = JSON.parse(exported.output) as ReadonlyArray<{ readonly traits: { readonly email: string } }>
  assert.include(JSON.stringify(all.find(({ traits }) => traits.email === email)), '"hashed_password":"$argon2id$')
  for (const given of [["export", email], ["create"], ["remove", email], ["create", email, "x"]]) {
    const end = await account(...given)
    assert.strictEqual(end.code, 2)
    assert.match(end.output, /^Usage: svc account/m)
  }
})
