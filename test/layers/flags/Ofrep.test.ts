import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { talk } from "../../support/client.ts"
import { type FlagServers, onOff, startFlagServers } from "../../support/flags/servers.ts"

let servers: FlagServers

beforeAll(async () => {
  servers = await startFlagServers()
  await servers.put("production", {
    on: onOff(),
    off: onOff({ defaultVariant: "off" }),
    gone: onOff({ state: "DISABLED" }),
    plan: onOff({ targeting: { if: [{ "==": [{ var: "plan" }, "pro"] }, "on", "off"] } }),
    lost: onOff({ targeting: { cat: ["no", "where"] } }),
    broken: onOff({ targeting: { no_such_operator: [] } })
  })
  await servers.put("dev", { on: onOff({ defaultVariant: "off" }) })
})
afterAll(() => servers.stop())

interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

const ask = async (path: string, body: unknown, { headers, method = "POST" }: Ask = {}) => {
  const sent =
    body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body)
  const response = await fetch(`http://${servers.ofrep}/ofrep/v1/evaluate/flags${path}`, {
    method,
    ...(sent === undefined ? {} : { body: sent as string }),
    ...(headers === undefined ? {} : { headers })
  })
  const text = await response.text()
  const json = (text === "" ? undefined : JSON.parse(text)) as Record<string, unknown>
  if (text !== "") assert.strictEqual(response.headers.get("content-type"), "application/json")
  return { status: response.status, headers: response.headers, text, json }
}

const metadata = { flagSetId: "production", version: "1" }

describe("one flag", () => {
  it("returns value, variant and reason; neither value nor variant if it is disabled", async () => {
    const reply = await ask("/on", { context: { targetingKey: "u" } })
    assert.strictEqual(reply.status, 200)
    assert.deepEqual(reply.json, { key: "on", value: true, variant: "on", reason: "STATIC", metadata })
    assert.deepInclude((await ask("/off", {})).json, { value: false, variant: "off" })
    assert.deepInclude((await ask("/plan", { context: { plan: "pro" } })).json, {
      value: true,
      reason: "TARGETING_MATCH"
    })
    const disabled = await ask("/gone", {})
    assert.strictEqual(disabled.status, 200)
    assert.deepEqual(disabled.json, { key: "gone", reason: "DISABLED", metadata })
  })

  it("needs no body and no context", async () => {
    for (const body of [undefined, "", " \n", "{}", `{"context":null}`, `{"context":{}}`, `{"other":1}`]) {
      assert.strictEqual((await ask("/on", body)).status, 200, body)
    }
  })

  it("fails with the codes of OpenFeature: 404 for missing flags, 400 for failed evaluations", async () => {
    const missing = await ask("/none", {})
    assert.strictEqual(missing.status, 404)
    assert.deepInclude(missing.json, { key: "none", errorCode: "FLAG_NOT_FOUND" })
    assert.isString(missing.json["errorDetails"])
    for (const [key, errorCode] of [
      ["lost", "GENERAL"],
      ["broken", "PARSE_ERROR"]
    ] as const) {
      const reply = await ask(`/${key}`, {})
      assert.strictEqual(reply.status, 400)
      assert.deepInclude(reply.json, { key, errorCode, metadata })
    }
    for (const odd of ["a%2Fb", "%20", "__proto__", "constructor", "%F0%9F%8E%89", "x".repeat(3_000)]) {
      const reply = await ask(`/${odd}`, {})
      assert.strictEqual(reply.status, 404, odd)
      assert.deepInclude(reply.json, { key: decodeURIComponent(odd), errorCode: "FLAG_NOT_FOUND" })
    }
  })

  it("rejects invalid contexts with INVALID_CONTEXT", async () => {
    const deep = `{"context":${`{"a":`.repeat(100)}1${"}".repeat(100)}}`
    const abyss = `${"[".repeat(30_000)}${"]".repeat(30_000)}`
    const bodies = ["{", "null", "1", "[]", `{"context":[]}`, `{"context":"x"}`, `{"context":1}`, `{} {}`, deep, abyss]
    for (const body of [...bodies, `{"context":{"n":1e999}}`, new Uint8Array([123, 255, 125])]) {
      for (const path of ["/on", "", "/"]) {
        const reply = await ask(path, body)
        const about = `${path} ${String(body).slice(0, 50)}`
        assert.strictEqual(reply.status, 400, about)
        assert.deepInclude(reply.json, { errorCode: "INVALID_CONTEXT" }, about)
        assert.strictEqual(reply.json["key"], path === "/on" ? "on" : undefined)
      }
    }
  })

  it("takes the environment from the selector", async () => {
    const by = (selector: string) => ask("/on", {}, { headers: { "Flagd-Selector": selector } })
    assert.deepInclude((await by("flagSetId=dev")).json, { value: false, metadata: { flagSetId: "dev", version: "2" } })
    assert.deepInclude((await by("dev")).json, { value: false })
    assert.deepInclude((await by("source=production")).json, { value: true })
    assert.deepInclude((await by("flagSetId=qa")).json, { errorCode: "FLAG_NOT_FOUND" })
    assert.strictEqual((await by("flagSetId=")).status, 404)
    const wrong = await by("env=dev")
    assert.strictEqual(wrong.status, 400)
    assert.deepInclude(wrong.json, { key: "on", errorCode: "GENERAL" })
  })
})

describe("all flags", () => {
  it("returns every flag, including disabled and failing ones, with or without a trailing slash", async () => {
    const reply = await ask("", { context: { plan: "pro" } })
    assert.strictEqual(reply.status, 200)
    const flags = reply.json["flags"] as ReadonlyArray<Record<string, unknown>>
    assert.deepEqual(
      flags.map(({ errorCode, key, reason, value }) => [key, reason ?? errorCode, value]),
      [
        ["on", "STATIC", true],
        ["off", "STATIC", false],
        ["gone", "DISABLED", undefined],
        ["plan", "TARGETING_MATCH", true],
        ["lost", "GENERAL", undefined],
        ["broken", "PARSE_ERROR", undefined]
      ]
    )
    assert.deepEqual(reply.json["metadata"], metadata)
    assert.strictEqual((await ask("/", { context: { plan: "pro" } })).text, reply.text)
    assert.deepEqual((await ask("", {}, { headers: { "Flagd-Selector": "qa" } })).json, { flags: [], metadata: {} })
    assert.strictEqual((await ask("", {}, { headers: { "Flagd-Selector": "x=" } })).status, 400)
  })

  it("has an ETag of the whole response, and 304 for it", async () => {
    const first = await ask("", { context: { plan: "pro" } })
    const etag = first.headers.get("etag") ?? ""
    assert.match(etag, /^"[\w-]{27}"$/)
    const again = (context: object, tag: string) => ask("", { context }, { headers: { "if-none-match": tag } })
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const reply = await again({ plan: "pro" }, tag)
      assert.strictEqual(reply.status, 304, tag)
      assert.strictEqual(reply.text, "")
      assert.strictEqual(reply.headers.get("etag"), etag)
    }
    assert.strictEqual((await again({ plan: "free" }, etag)).status, 200)
    assert.strictEqual((await again({ plan: "pro" }, `"other"`)).status, 200)
    await servers.put("production", { off: onOff({ defaultVariant: "on" }) })
    const changed = await again({ plan: "pro" }, etag)
    assert.strictEqual(changed.status, 200)
    assert.notStrictEqual(changed.headers.get("etag"), etag)
  })
})

describe("an expensive set", () => {
  it("does not block other requests while it is evaluated", async () => {
    // Each flag hashes 60 KB.
    const split = onOff({ targeting: { fractional: [{ var: "who" }, ["on", 50], ["off", 50]] } })
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`split-${n}`, split]))
    await servers.put("staging", many)
    const context = { who: "é".repeat(30_000) }
    let longest = 0
    let last = performance.now()
    const pulse = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 1)
    const before = performance.now()
    const reply = await ask("", { context }, { headers: { "Flagd-Selector": "staging" } })
    const took = performance.now() - before
    clearInterval(pulse)
    assert.lengthOf(reply.json["flags"] as ReadonlyArray<unknown>, 1_500)
    assert.isBelow(longest, took / 3, `of ${took} ms`)
  }, 30_000)
})

describe("invalid requests", () => {
  it("have a reason with 404, 405 and 413", async () => {
    for (const path of ["/a/b", "/on/", "x", "/%ff", "//"]) {
      assert.strictEqual((await ask(path, {})).status, 404, path)
    }
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const reply = await ask("/on", undefined, { method })
      assert.strictEqual(reply.status, 405)
      assert.strictEqual(reply.headers.get("allow"), "POST")
      assert.isString(reply.json["errorDetails"])
    }
    assert.strictEqual((await ask("/on", `{}${" ".repeat(65_534)}`)).status, 200)
    const large = await ask("/on", `{}${" ".repeat(65_535)}`)
    assert.strictEqual(large.status, 413)
    assert.hasAllKeys(large.json, ["errorDetails"])
  })

  it("are answered with 413 while the client is still sending, however it sends", async () => {
    const head =
      "POST /ofrep/v1/evaluate/flags HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    const chunk = `186a0\r\n${"x".repeat(100_000)}\r\n`
    const answer = await talk({ url: `http://${servers.ofrep}` }, head, ...Array.from({ length: 20 }, () => chunk))
    assert.match(answer, /^HTTP\/1\.1 413 /)
  })
})
