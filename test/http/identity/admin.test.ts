import { hash as argon2 } from "@node-rs/argon2"
import { hash as bcrypt } from "@node-rs/bcrypt"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { freshEmail, type IdPUnderTest, tokenOf } from "../../support/identity/idp.ts"
import { asMember, logIn, register, sessionCookie } from "../../support/identity/people.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const { IDP_TEST_ADMIN_URL, IDP_TEST_PUBLIC_URL } = process.env
/** The real Kratos, if there is one. */
const kratos: IdPUnderTest = { publicUrl: IDP_TEST_PUBLIC_URL ?? "", adminUrl: IDP_TEST_ADMIN_URL ?? "", origin: "" }

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess()
})
afterAll(() => service[Symbol.asyncDispose]())

type Json = Readonly<Record<string, unknown>>
const admin = async (line: string, body?: unknown) =>
  ask(service, line, { key: service.service_role, ...(body === undefined ? {} : { body }) })
const bodyOf = ({ json }: { readonly json: unknown }) => json as Json

describe("/api/identities", () => {
  it("creates, finds, changes and deletes accounts", async () => {
    const email = freshEmail()
    const created = await admin("POST /api/identities", {
      email,
      traits: { name: "Ann" },
      verified: true,
      invite: true
    })
    assert.strictEqual(created.status, 201, created.text)
    const { identity, recovery_link } = created.json as { identity: { id: string } & Json; recovery_link: string }
    assert.deepInclude(identity, { traits: { name: "Ann", email }, addresses: [{ value: email, verified: true }] })
    assertRefused(await admin("POST /api/identities", { email: ` ${email.toUpperCase()}. ` }), 409, "ADDRESS_TAKEN")
    const listed = await admin(`GET /api/identities?identifier=${email}`)
    assert.deepStrictEqual(listed.json, { identities: [identity], next_page_token: null })
    const fields = new URL(recovery_link).searchParams
    const proof = { flowId: fields.get("flow"), token: fields.get("token") }
    const owner = await ask(service, "POST /api/auth/recovery/confirm", { body: proof })
    assert.strictEqual(owner.status, 200, owner.text)
    const cookie = sessionCookie(owner)
    const one = `/api/identities/${identity.id}`
    const changed = await admin(`PATCH ${one}`, { metadata_public: { svc_role: "admin" }, traits: { name: "Bob" } })
    assert.deepInclude(bodyOf(changed), { traits: { name: "Bob", email }, metadata_public: { svc_role: "admin" } })
    assert.strictEqual((await asMember(service, cookie, "GET /api/keys")).status, 200, "they are an administrator")
    const other = bodyOf(await admin("POST /api/identities", { email: freshEmail() }))["identity"] as Json
    const theirs = await asMember(service, cookie, `DELETE /api/identities/${String(other["id"])}`)
    assert.strictEqual(theirs.status, 200, "and deletes without a key")
    assert.deepInclude(bodyOf(await admin(`DELETE ${one}/sessions`)), { ended: 1 })
    assertRefused(await asMember(service, cookie, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
    assert.strictEqual((await admin(`DELETE ${one}`)).status, 200)
    for (const line of [
      `GET ${one}`,
      `PATCH ${one}`,
      `DELETE ${one}`,
      `POST ${one}/recovery`,
      "GET /api/identities/x"
    ]) {
      assertRefused(await admin(line, /PATCH/.test(line) ? {} : undefined), 404, "IDENTITY_NOT_FOUND")
    }
  })

  it("finds accounts by a part of their address, page by page", async () => {
    const part = `Part.${freshEmail().split("@")[0] ?? ""}`
    for (const n of [1, 2, 3]) await admin("POST /api/identities", { email: `x${n}.${part}@example.com` })
    const seen: Array<unknown> = []
    let token = ""
    do {
      const { json, text } = await admin(
        `GET /api/identities?contains=${part.toUpperCase()}&page_size=2${token === "" ? "" : `&page_token=${token}`}`
      )
      const page = json as { identities: ReadonlyArray<Json>; next_page_token: string | null }
      assert.isAtMost(page.identities.length, 2, text)
      seen.push(...page.identities.map(({ id }) => id))
      token = page.next_page_token ?? ""
    } while (token !== "")
    assert.strictEqual(new Set(seen).size, 3)
    assert.deepInclude(bodyOf(await admin("GET /api/identities?contains=%25")), { identities: [] })
    assertRefused(await admin("GET /api/identities?contains=a&page_token=x"), 400, "INVALID_PAGE_TOKEN")
    assertRefused(await admin("GET /api/identities?contains="), 400)
    assertRefused(await admin("GET /api/identities?contains=%00"), 400)
  })

  it("refuses a change of what another operator has changed meanwhile", async () => {
    const created = await admin("POST /api/identities", { email: freshEmail(), traits: { name: "Ann" } })
    const { id, updated_at } = (bodyOf(created)["identity"] ?? {}) as Json
    const one = `PATCH /api/identities/${String(id)}`
    const changed = await admin(one, { traits: { name: "Bo" }, updated_at })
    assert.strictEqual(changed.status, 200, changed.text)
    assertRefused(await admin(one, { traits: { name: "Cleo" }, updated_at }), 409, "IDENTITY_CHANGED")
    assert.strictEqual((bodyOf(await admin(`GET /api/identities/${String(id)}`))["traits"] as Json)["name"], "Bo")
    const again = await admin(one, { traits: { name: "Cleo" }, updated_at: bodyOf(changed)["updated_at"] })
    assert.strictEqual(again.status, 200, again.text)
  })

  it("disables an account at once, in whatever session, and removes lost factors", async () => {
    const { cookie, email, id, password } = await register(service)
    assert.strictEqual((await asMember(service, cookie, "GET /api/auth/session")).status, 200)
    await admin(`PATCH /api/identities/${id}`, { state: "inactive" })
    assertRefused(await asMember(service, cookie, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
    assertRefused(await logIn(service, email, password), 401, "INVALID_CREDENTIALS")
    await admin(`PATCH /api/identities/${id}`, { state: "active" })
    await sql(service, "update svc.identities set totp_secret = 'x' where id = $1", [id])
    assertRefused(await logIn(service, email, password), 403, "aal2_required")
    assert.strictEqual((await admin(`DELETE /api/identities/${id}/factors/totp`)).status, 200)
    assert.strictEqual((await logIn(service, email, password)).status, 200)
    assertRefused(await admin(`DELETE /api/identities/${id}/factors/none`), 400)
  })

  it("shows the sessions and factors of a person", async () => {
    const { cookie, email, id, password } = await register(service)
    const one = `/api/identities/${id}`
    const factors = async () => bodyOf(await admin(`GET ${one}`))["factors"] as ReadonlyArray<Json>
    const [registered, ...others] = await factors()
    assert.deepInclude(registered, { type: "password", last_used_at: null })
    assert.match(String(registered?.["created_at"]), /^20.*Z$/)
    assert.isEmpty(others)
    await logIn(service, email, password)
    await sql(
      service,
      `with app as (update svc.identities set totp_secret = 'sealed', totp_last_step = 58000000 where id = $1::uuid),
         link as (insert into svc.identity_links (issuer, subject, identity_id, provider, account, added_at)
           values ('https://github.com', $1::text, $1::uuid, 'github', 'octocat', '2026-01-01 00:00Z')),
         codes as (insert into svc.identity_recovery_codes values ($1::uuid, 'one', '2026-01-02 03:04:05Z'), ($1::uuid, 'two', null))
       insert into svc.identity_keys (id, identity_id, passkey, public_key, counter, display_name, backed_up, added_at)
       values ('a' || $2::text, $1::uuid, true, '', 0, 'Laptop', false, '2026-01-01 00:00Z'), ('b' || $2::text, $1::uuid, false, '', 0, 'Key', false, '2026-01-01 00:00Z')`,
      [id, email]
    )
    const [, ...second] = await factors()
    const none = { id: null, name: null, unused: null, created_at: null, last_used_at: null }
    const key = { ...none, created_at: "2026-01-01T00:00:00.000Z" }
    assert.deepStrictEqual(second, [
      { ...key, type: "passkey", id: `a${email}`, name: "Laptop" },
      { ...key, type: "webauthn", id: `b${email}`, name: "Key" },
      { ...key, type: "provider", id: "github", name: "octocat" },
      { ...none, type: "totp", last_used_at: "2025-02-19T21:20:00.000Z" },
      { ...none, type: "recovery_codes", unused: 1, last_used_at: "2026-01-02T03:04:05.000Z" }
    ])
    assert.strictEqual((await admin(`DELETE ${one}/factors/providers`)).status, 200)
    assert.notInclude(
      (await factors()).map(({ type }) => type),
      "provider"
    )
    const { sessions } = bodyOf(await admin(`GET ${one}/sessions`)) as { sessions: ReadonlyArray<Json> }
    assert.lengthOf(sessions, 2)
    for (const session of sessions) {
      assert.hasAllKeys(session, ["id", "current", "aal", "authenticated_at", "issued_at", "expires_at", "devices"])
      assert.isFalse(session["current"])
    }
    assert.isTrue(String(sessions[0]?.["issued_at"]) >= String(sessions[1]?.["issued_at"]))
    assertRefused(await asMember(service, cookie, `GET ${one}/sessions`), 403)
    assertRefused(await admin("GET /api/identities/x/sessions"), 404, "IDENTITY_NOT_FOUND")
  })

  it("imports password hashes, and refuses those that would take too long to verify", async () => {
    const password = "ｆour common wörds"
    const accounts = {
      argon2: await argon2(password, { memoryCost: 4096, timeCost: 3 }),
      bcrypt: await bcrypt(password, 5),
      plain: "$1$x$y",
      scrypt: "$scrypt$ln=15,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2g",
      memory: "$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g",
      rounds: `$2b$31$${"a".repeat(53)}`
    }
    const identities = Object.values(accounts).map((password_hash) => ({ email: freshEmail(), password_hash }))
    const reply = await admin("POST /api/identities/import", { identities: [...identities, identities[0]] })
    const { results } = reply.json as { results: Array<{ email: string; id: string | null; code: string | null }> }
    assert.deepStrictEqual(
      results.map(({ code }) => code),
      [null, null, ...Array.from({ length: 4 }, () => "INVALID_PASSWORD_HASH"), "ADDRESS_TAKEN"]
    )
    for (const { email } of identities.slice(0, 2)) {
      assertRefused(await logIn(service, email, "another password"), 401, "INVALID_CREDENTIALS")
      assert.strictEqual((await logIn(service, email, password)).status, 200)
      const [row] = await sql(
        service,
        "select password_hash from svc.identities i join svc.identity_addresses a on a.identity_id = i.id where value = $1",
        [email]
      )
      assert.match(String(row?.["password_hash"]), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/, "it is hashed anew")
      assert.strictEqual((await logIn(service, email, password)).status, 200)
    }
  })

  it("exports people, who sign in to the empty instance that imports them, with their ids", async () => {
    await using empty = await serveInProcess()
    const typed = "ｆour common wörds"
    const person = await register(service)
    const own = { email: freshEmail(), password: typed, traits: { name: "Bob" }, verified: true, state: "inactive" }
    await admin("POST /api/identities", own)
    const hashed = { email: freshEmail(), password_hash: await bcrypt(typed, 5) }
    await admin("POST /api/identities", hashed)
    const invited = { email: freshEmail() }
    await admin("POST /api/identities", invited)

    const exported = await admin("GET /api/identities/export")
    assert.strictEqual(exported.status, 200, exported.text)
    assert.match(exported.headers.get("content-disposition") ?? "", /identities\.json/)
    const all = exported.json as ReadonlyArray<Json & { readonly traits: Json }>
    const [row] = await sql(service, "select count(*)::int as n from svc.identities")
    assert.lengthOf(all, Number(row?.["n"]))
    const identities = [person, own, hashed, invited].map(({ email }) =>
      all.find(({ traits }) => traits["email"] === email)!
    )
    assert.match(JSON.stringify(identities[2]), /"hashed_password":"\$2b\$05\$/)
    assert.notProperty(identities[3], "credentials")

    const load = () => ask(empty, "POST /api/identities/import", { key: empty.service_role, body: { identities } })
    const first = bodyOf(await load())["results"] as ReadonlyArray<Json>
    assert.deepStrictEqual(
      first.map(({ error, id }) => [id, error]),
      identities.map(({ external_id }) => [external_id, null])
    )
    assert.include((await load()).text, "ID_TAKEN")
    const again = await ask(empty, "GET /api/identities/export", { key: empty.service_role })
    const byId = (list: ReadonlyArray<Json>) =>
      list.toSorted((a, b) => (String(a["external_id"]) < String(b["external_id"]) ? -1 : 1))
    assert.deepStrictEqual(byId(again.json as ReadonlyArray<Json>), byId(identities))
    await ask(empty, `PATCH /api/identities/${String(first[1]?.["id"])}`, {
      key: empty.service_role,
      body: { state: "active" }
    })
    for (const [email, password] of [
      [person.email, person.password],
      [own.email, typed],
      [hashed.email, typed]
    ] as const) {
      assertRefused(await logIn(empty, email, "another password"), 401, "INVALID_CREDENTIALS")
      const done = await logIn(empty, email, password)
      assert.strictEqual(done.status, 200, done.text)
    }
    for (const [bad, code] of [
      [{ traits: { email: freshEmail() }, external_id: "1" }, null],
      [{ traits: {} }, null],
      [{ traits: { email: freshEmail() }, credentials: { password: { config: { hashed_password: "x" } } } }, null],
      [{ traits: { email: freshEmail() }, credentials: { oidc: {} } }, 400]
    ] as const) {
      const reply = await admin("POST /api/identities/import", { identities: [bad] })
      if (code !== null) assertRefused(reply, code)
      else assert.isNotNull((bodyOf(reply)["results"] as ReadonlyArray<Json>)[0]?.["error"], reply.text)
    }
  })

  it.skipIf(IDP_TEST_ADMIN_URL === undefined)(
    "exports people, who sign in at the Kratos that imports them",
    async () => {
      const [person, imported] = [await register(service), { email: freshEmail(), password: "five words of bcrypt" }]
      await admin("POST /api/identities", { email: imported.email, password_hash: await bcrypt(imported.password, 5) })
      const all = (await admin("GET /api/identities/export")).json as ReadonlyArray<{ readonly traits: Json }>
      for (const { email, password } of [person, imported]) {
        const response = await fetch(`${IDP_TEST_ADMIN_URL}/admin/identities`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(all.find(({ traits }) => traits["email"] === email))
        })
        const made = (await response.json()) as { readonly id: string }
        assert.strictEqual(response.status, 201, JSON.stringify(made))
        await tokenOf(kratos, { id: made.id, email, password })
      }
    }
  )

  it("exports password hashes for a service_role key only", async () => {
    const { cookie, id } = await register(service)
    await admin(`PATCH /api/identities/${id}`, { verified: true })
    await admin(`PATCH /api/identities/${id}`, { metadata_public: { svc_role: "admin" } })
    assert.strictEqual((await asMember(service, cookie, "GET /api/identities")).status, 200)
    assertRefused(await asMember(service, cookie, "GET /api/identities/export"), 403, "FORBIDDEN")
    assertRefused(await ask(service, "GET /api/identities/export", { key: service.anon }), 403)
    assertRefused(await ask(service, "GET /api/identities/export"), 401)
  })

  it("and /api/mails are for operators, and show no secrets", async () => {
    const { cookie, email, id } = await register(service)
    const mails = await admin(`GET /api/mails?recipient=${email}`)
    const [mail] = (mails.json as { mails: Array<Json> }).mails
    assert.deepInclude(mail, { recipient: email, sent_at: null, attempts: 0 })
    assert.strictEqual((await admin(`POST /api/mails/${String(mail?.["id"])}/resend`)).status, 200)
    assertRefused(await admin("POST /api/mails/999999/resend"), 404)
    for (const line of ["GET /api/identities", "GET /api/mails", `GET /api/identities/${id}`]) {
      assertRefused(await ask(service, line, { key: service.anon }), 403)
      assertRefused(await asMember(service, cookie, line), 403)
      assertRefused(await ask(service, line), 401)
      assert.notMatch((await admin(line)).text, /argon2|hash|secret|totp/i)
    }
    const { text } = await ask(service, "GET /v1/db/identities", {
      key: service.service_role,
      headers: { "accept-profile": "svc" }
    })
    assert.notInclude(text, email)
  })

  it("creates nothing of what is invalid", async () => {
    for (const body of [
      {},
      { email: "no address" },
      { email: "a@b.example, evil@c.example" },
      { email: "a@b.example\r\nBcc: evil@c.example" },
      { email: `"a b"@c.example` },
      { email: `${"x".repeat(250)}@c.example` },
      { email: freshEmail(), password: "short" },
      { email: freshEmail(), traits: [] },
      { email: freshEmail(), traits: { a: "\0" } },
      { email: freshEmail(), role: "admin" }
    ]) {
      assertRefused(await admin("POST /api/identities", body), 400)
    }
    const identities = Array.from({ length: 1001 }, () => ({ email: "a@b.example" }))
    assertRefused(await admin("POST /api/identities/import", { identities }), 400)
  })
})
