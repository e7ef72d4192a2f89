import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { type Address, type Service, startService } from "../../support/service.ts"

const shared = inject("service")
const asking =
  (service: Address) =>
  (line: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    ask(service, line, { key: service.service_role, body, headers })
const run = asking(shared)

interface Saved {
  readonly id: number
  readonly name: string
  readonly connection_url: string | null
  readonly error: string | null
  readonly old_key: boolean
}
const saved = async (service: Address) => (await asking(service)("GET /api/connections")).json as ReadonlyArray<Saved>

describe("/api/connections", () => {
  it("saves, returns, changes, tests and deletes, and never returns the password", async () => {
    const body = { name: "e2e shop", connection_url: "postgres://reader:s3cret@127.0.0.1:1/shop?password=s3cret" }
    const made = await run("POST /api/connections", body)
    assert.strictEqual(made.status, 201, made.text)
    const { id } = made.json as Saved
    assert.deepInclude(made.json, {
      name: "e2e shop",
      connection_url: "postgres://reader:****@127.0.0.1:1/shop?password=****"
    })
    const replies = [
      made,
      await run("GET /api/connections"),
      await run(`GET /api/connections/${id}`),
      await run(`PATCH /api/connections/${id}`, { name: "e2e shop 2" }),
      await run(`POST /api/connections/${id}/test`),
      await run("POST /api/connections", { ...body, name: "e2e shop 2" }),
      await run(`DELETE /api/connections/${id}`),
      await run(`GET /api/connections/${id}`)
    ]
    assert.deepStrictEqual(
      replies.map(({ status }) => status),
      [201, 200, 200, 200, 200, 409, 200, 404]
    )
    assert.deepInclude(replies[4]?.json, { ok: false, checked: "query" })
    assert.match(replies[4]?.text ?? "", /Refused: 127\.0\.0\.1 is not on the public Internet/)
    assert.deepStrictEqual(replies[6]?.json, { success: true })
    for (const { text } of replies) assert.notInclude(text, "s3cret")
  })

  it("requires a service_role key", async () => {
    assertRefused(await ask(shared, "GET /api/connections"), 401)
    assertRefused(await ask(shared, "GET /api/connections", { key: shared.anon }), 403)
  })

  it.each([
    [{ connection_url: "postgres://h/db" }, "name: Missing key"],
    [{ name: " ", connection_url: "postgres://h/db" }, "name: Expected 1 to 100 characters"],
    [{ name: "x".repeat(101), connection_url: "postgres://h/db" }, /^name: /],
    [{ name: "x" }, "connection_url: Missing key"],
    [{ name: "x", connection_url: { password: "s3cret" } }, "connection_url: Expected string"],
    [
      { name: "x", connection_url: "ftp://u:s3cret@h" },
      /^connection_url: Expected a URL of one of the schemes postgres, /
    ],
    [
      { name: "x", connection_url: "postgres://u:s3@cret@h/db" },
      /^connection_url: Expected scheme:\/\/user:password@host/
    ],
    [{ name: "x", connection_url: "postgres://u:s3\u0000cret@h/db" }, /^connection_url: /],
    [{ name: "x", connection_url: `postgres://u:s3cret@h/${"x".repeat(4096)}` }, /^connection_url: /]
  ])("rejects %j without echoing it", async (body, message) => {
    const reply = await run("POST /api/connections", body)
    const [first = ""] = assertRefused(reply, 400, "INVALID_REQUEST")["details"] as ReadonlyArray<string>
    if (typeof message === "string") assert.strictEqual(first, message)
    else assert.match(first, message)
    assert.notMatch(reply.text, /s3/)
  })

  it("rejects invalid JSON and invalid ids, without echoing them", async () => {
    const broken = await run("POST /api/connections", '{"name": "x", "connection_url": "postgres://u:s3cret@h/db" oops')
    assertRefused(broken, 400)
    assert.notInclude(broken.text, "s3cret")
    assertRefused(await run("GET /api/connections/first"), 400)
    assertRefused(await run("GET /api/connections/9007199254740991"), 404, "CONNECTION_NOT_FOUND")
    assertRefused(await run("DELETE /api/connections/99999999999999999999"), 400)
  })

  it("signs in to private addresses with SVC_CONNECTIONS_ALLOW_PRIVATE", async () => {
    const databaseUrl = inject("databaseUrl")
    await using service = await startService({ env: { SVC_CONNECTIONS_ALLOW_PRIVATE: "true", LOG_LEVEL: "Debug" } })
    const made = await asking(service)("POST /api/connections", { name: "here", connection_url: databaseUrl })
    const tested = await asking(service)(`POST /api/connections/${(made.json as Saved).id}/test`)
    assert.deepInclude(tested.json, { ok: true, checked: "query", error: null })
    assert.notInclude(service.output(), new URL(databaseUrl).password)
  })
})

describe("the encryption key", () => {
  const key = () => randomBytes(32).toString("base64")

  it("is generated at the first start, readable by its owner only, and stays an old key beside a configured one", async () => {
    const dataDir = await makeDataDir()
    const stop = async (service: Service) => assert.strictEqual((await service.stop()).code, 0)
    try {
      const first = await startService({ dataDir })
      await asking(first)("POST /api/connections", { name: "kept", connection_url: "redis://:s3cret@h" })
      const kept = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as Record<string, string>
      assert.lengthOf(Buffer.from(kept["encryption_key"] ?? "", "base64"), 32)
      await stop(first)

      const given = key()
      const second = await startService({ dataDir, env: { SVC_ENCRYPTION_KEY: given } })
      const [shown] = await saved(second)
      assert.deepInclude(shown, { connection_url: "redis://:****@h", old_key: true, error: null })
      await asking(second)(`PATCH /api/connections/${shown?.id}`, {})
      assert.deepInclude((await saved(second))[0], { old_key: false })
      await stop(second)

      const other = key()
      const third = await startService({ dataDir, env: { SVC_ENCRYPTION_KEY: other } })
      assert.deepInclude((await saved(third))[0], { name: "kept", connection_url: null })
      assert.include((await saved(third))[0]?.error ?? "", "neither SVC_ENCRYPTION_KEY nor in SVC_ENCRYPTION_KEYS_OLD")
      await stop(third)

      const env = { SVC_ENCRYPTION_KEY: other, SVC_ENCRYPTION_KEYS_OLD: `${key()}, ${given}` }
      const fourth = await startService({ dataDir, env })
      assert.deepInclude((await saved(fourth))[0], { connection_url: "redis://:****@h", old_key: true, error: null })
      await stop(fourth)
    } finally {
      await removeDataDir(dataDir)
    }
  })
})
