import { assert, describe, inject, it } from "vitest"
import { type Flag, type FlagHistoryEntry } from "../../../src/domain/flags/Flag.ts"
import { ask, assertRefused } from "../../support/client.ts"
import { evaluate, flagOf, flags, makeFlag, makeSegment } from "../../support/flags/api.ts"
import { until } from "../../support/service.ts"

const service = inject("service")
const key = service.service_role
const pro = { "==": [{ var: "plan" }, "pro"] }
const success = { success: true }

const refused = async (line: string, body: unknown, status: number, code?: string) =>
  assertRefused(await flags(service, line, body), status, code)

describe("flags", () => {
  it("are created, read, listed, changed, and deleted", async () => {
    const given: Pick<Flag, "key" | "type" | "description" | "variants" | "defaultVariant" | "state"> = {
      key: "f.basic:1_-",
      type: "string",
      description: "Which checkout",
      variants: { b: "blue", a: "azure" },
      defaultVariant: "a",
      state: "ENABLED"
    }
    const reply = await flags(service, "POST ", given)
    assert.strictEqual(reply.status, 201, reply.text)
    const made = reply.json as Flag
    assert.deepInclude(made, { ...given, targeting: {}, environment: "production", last_evaluated_at: null })
    assert.strictEqual(reply.headers.get("etag"), `"${made.revision}"`)
    assert.deepStrictEqual(await flagOf(service, "GET /f.basic:1_-"), made)
    const all = (await flags(service, "GET ")).json as ReadonlyArray<Flag>
    assert.deepStrictEqual(
      all.find((flag) => flag.key === given.key),
      made
    )
    assert.deepStrictEqual(
      all.map((flag) => flag.key),
      all.map((flag) => flag.key).sort()
    )
    const changed = await flagOf(service, "PUT /f.basic:1_-", { description: null, variants: { a: "x", c: "y" } })
    assert.deepInclude(changed, { description: null, variants: { a: "x", c: "y" }, defaultVariant: "a" })
    assert.isAbove(changed.revision, made.revision)
    assert.isAtLeast(Date.parse(changed.updated_at), Date.parse(made.updated_at))
    assert.strictEqual(changed.created_at, made.created_at)
    assert.deepStrictEqual(
      await flagOf(service, "PUT /f.basic:1_-", changed),
      changed,
      "a whole record may be sent back"
    )
    assert.deepStrictEqual((await flags(service, "DELETE /f.basic:1_-")).json, success)
    await refused("GET /f.basic:1_-", undefined, 404, "FLAG_NOT_FOUND")
    await refused("DELETE /f.basic:1_-", undefined, 404, "FLAG_NOT_FOUND")
  })

  it("keep state, rule and default variant for each environment", async () => {
    await makeFlag(service, "f.env", { state: "DISABLED" })
    const rule = { if: [pro, "on", null] }
    const dev = await flagOf(service, "PUT /f.env?environment=dev", { targeting: rule, state: "ENABLED" })
    assert.deepInclude(dev, { environment: "dev", state: "ENABLED", targeting: rule })
    const staging = await flagOf(service, "PUT /f.env", { environment: "staging", defaultVariant: "on" })
    assert.deepInclude(staging, { environment: "staging", state: "DISABLED", targeting: {}, defaultVariant: "on" })
    const { environments } = await flagOf(service, "GET /f.env")
    assert.deepInclude(environments.dev, { state: "ENABLED", targeting: rule, defaultVariant: "off" })
    assert.deepInclude(environments.production, { state: "DISABLED", targeting: {}, defaultVariant: "off" })
    const found = (await flags(service, "GET ?environment=staging")).json as ReadonlyArray<Flag>
    assert.strictEqual(found.find((flag) => flag.key === "f.env")?.defaultVariant, "on")

    assert.deepInclude(await evaluate(service, "f.env", { plan: "pro" }, "dev"), { variant: "on", value: true })
    assert.deepInclude(await evaluate(service, "f.env", { plan: "pro" }), { value: false, reason: "DISABLED" })

    assert.deepInclude(await flagOf(service, "PATCH /f.env/toggle?environment=staging"), { state: "ENABLED" })
    assert.deepInclude(await flagOf(service, "PATCH /f.env/toggle", { environment: "staging" }), { state: "DISABLED" })
    const promoted = await flagOf(service, "POST /f.env/promote", { from: "dev", to: "production" })
    assert.deepInclude(promoted, { environment: "production", state: "ENABLED", targeting: rule })
    assert.deepInclude(await evaluate(service, "f.env", { plan: "pro" }), { value: true, reason: "TARGETING_MATCH" })
    assert.deepInclude(promoted.environments.staging, { state: "DISABLED" })

    for (const [line, body] of [
      ["GET /f.env?environment=test", undefined],
      ["GET ?environment=", undefined],
      ["PUT /f.env", { environment: "prod" }],
      ["PUT /f.env?environment=dev", { environment: "staging" }],
      ["PATCH /f.env/toggle?environment=dev", { environment: "staging" }],
      ["PATCH /f.env/toggle", { environment: 1 }],
      ["POST /f.env/promote", { from: "dev", to: "dev" }],
      ["POST /f.env/promote", { from: "dev", to: "test" }],
      ["POST /f.env/promote", { from: "dev" }],
      ["PUT /f.env", { environments: { dev: { state: "DISABLED" } } }],
      ["PUT /f.env", { key: "f.other" }],
      ["PUT /f.env", { type: "string" }]
    ] as const) {
      await refused(line, body, 400)
    }
    const text = JSON.stringify(await refused("GET /f.env?environment=test", undefined, 400))
    for (const name of ["dev", "staging", "production"]) assert.include(text, name)
  })

  it("have a history of changes, which outlives them", async () => {
    const made = (await ask(service, "POST /api/keys", { key, body: { keyType: "service_role", label: "Ann" } }))
      .json as { readonly key: { readonly id: number }; readonly secret: string }
    await makeFlag(service, "f.audited")
    const patch = await ask(service, "PATCH /api/flags/f.audited/toggle", { key: made.secret })
    assert.strictEqual(patch.status, 200)
    await flags(service, "DELETE /f.audited")
    const entries = (await flags(service, "GET /f.audited/history")).json as ReadonlyArray<FlagHistoryEntry>
    assert.deepStrictEqual(
      entries.map(({ action }) => action),
      ["deleted", "toggled", "created"]
    )
    assert.deepStrictEqual(entries[1]?.actor, { type: "key", id: made.key.id, label: "Ann" })
    const next = (await flags(service, `GET /f.audited/history?limit=1&before=${entries[1]?.id}`)).json
    assert.deepStrictEqual(next, [entries[2]])
    for (const query of ["limit=0", "limit=501", "limit=x", "before=0", "before=x"]) {
      await refused(`GET /f.audited/history?${query}`, undefined, 400)
    }
    await refused("GET /f.never/history", undefined, 404, "FLAG_NOT_FOUND")
  })

  it("change only at the revision in If-Match", async () => {
    const { revision } = await makeFlag(service, "f.match")
    const put = (description: string, match: string) =>
      flags(service, "PUT /f.match", { description }, { "if-match": match })
    const both = await Promise.all([put("one", `"${revision}"`), put("two", `"${revision}"`)])
    assert.deepStrictEqual(both.map(({ status }) => status).sort(), [200, 412])
    assertRefused(both.find(({ status }) => status === 412) ?? assert.fail(), 412, "PRECONDITION_FAILED")
    const winner = both.find(({ status }) => status === 200)?.json as Flag
    assert.strictEqual((await flagOf(service, "GET /f.match")).description, winner.description)
    const now = `"${winner.revision}"`
    for (const [match, status] of [
      ["*", 200],
      [`"1", ${now}`, 200],
      [`W/${now}`, 412],
      ['"0"', 412],
      ['"text"', 412],
      [String(winner.revision), 400],
      ["", 400]
    ] as const) {
      assert.strictEqual((await put(winner.description ?? "", match)).status, status, match)
    }
    const old = { "if-match": `"${revision}"` }
    for (const [line, body] of [
      ["PATCH /f.match/toggle", undefined],
      ["POST /f.match/promote", { from: "dev", to: "staging" }],
      ["DELETE /f.match", undefined]
    ] as const) {
      assertRefused(await flags(service, line, body, old), 412, "PRECONDITION_FAILED")
    }
    for (const [none, status] of [
      [now, 304],
      [`W/${now}`, 304],
      ["*", 304],
      [`"0"`, 200]
    ] as const) {
      const reply = await flags(service, "GET /f.match", undefined, { "if-none-match": none })
      assert.strictEqual(reply.status, status, none)
      assert.strictEqual(reply.headers.get("etag"), now)
      if (status === 304) assert.strictEqual(reply.text, "")
    }
    assertRefused(await flags(service, "PUT /f.none", {}, { "if-match": "*" }), 404)
  })

  it("have the time of the last evaluation within seconds", async () => {
    await makeFlag(service, "f.used")
    const before = Date.now()
    await evaluate(service, "f.used", {}, "dev")
    const flag = await until(
      () => flagOf(service, "GET /f.used?environment=dev"),
      ({ last_evaluated_at }) => last_evaluated_at !== null,
      15_000
    )
    assert.isAtLeast(Date.parse(flag.last_evaluated_at ?? ""), before)
    // Other files evaluate all flags of production on the same service.
    assert.isNull(flag.environments.staging.last_evaluated_at)
  })
})

describe("segments", () => {
  it("are created with either key field, changed for all their users, and not deleted while in use", async () => {
    const reply = await flags(service, "POST /segments", {
      segmentKey: "s.pro",
      name: "Pro users",
      description: "Who pays",
      rules: pro
    })
    assert.strictEqual(reply.status, 201, reply.text)
    assert.deepInclude(reply.json, {
      key: "s.pro",
      segmentKey: "s.pro",
      name: "Pro users",
      description: "Who pays",
      rules: pro,
      used_by: { flags: [], segments: [] }
    })
    await makeSegment(service, "s.outer", {
      or: [{ $ref: "s.pro" }, { ends_with: [{ var: "email" }, "@example.com"] }]
    })
    await makeFlag(service, "s.flag", { targeting: { if: [{ $ref: "s.outer" }, "on", "off"] } })
    assert.deepInclude(await evaluate(service, "s.flag", { plan: "pro" }), { value: true })
    const changed = await flags(service, "PUT /segments/s.pro", { rules: { "==": [{ var: "plan" }, "max"] } })
    assert.deepInclude(changed.json, { name: "Pro users", used_by: { flags: [], segments: ["s.outer"] } })
    assert.deepInclude(await evaluate(service, "s.flag", { plan: "pro" }), { value: false })
    assert.deepInclude(await evaluate(service, "s.flag", { plan: "max" }), { value: true })
    assert.deepInclude(await evaluate(service, "s.flag", { email: "a@example.com" }), { value: true })

    const body = await refused("DELETE /segments/s.outer", undefined, 409, "SEGMENT_IN_USE")
    assert.deepStrictEqual(body["details"], { flags: ["s.flag"], segments: [] })
    await refused("DELETE /segments/s.pro", undefined, 409, "SEGMENT_IN_USE")
    const cycle = await refused("PUT /segments/s.pro", { rules: { "!": [{ $ref: "s.outer" }] } }, 400)
    assert.match(JSON.stringify(cycle["details"]), /s\.outer.*s\.pro|s\.pro.*s\.outer/)
    await refused("POST /segments", { key: "s.self", rules: { "!": [{ $ref: "s.self" }] } }, 400)
    await refused("POST /segments", { key: "s.lost", rules: { "!": [{ $ref: "nowhere" }] } }, 400)
    await refused(
      "POST ",
      {
        key: "s.lost",
        type: "boolean",
        variants: { on: true },
        defaultVariant: "on",
        targeting: { if: [{ $ref: "nowhere" }, "on"] }
      },
      400
    )

    const list = (await flags(service, "GET /segments")).json as ReadonlyArray<{ readonly key: string }>
    assert.includeMembers(
      list.map((one) => one.key),
      ["s.outer", "s.pro"]
    )
    const one = await flags(service, "GET /segments/s.pro")
    const etag = one.headers.get("etag") ?? ""
    assert.strictEqual((await flags(service, "GET /segments/s.pro", undefined, { "if-none-match": etag })).status, 304)
    assertRefused(await flags(service, "PUT /segments/s.pro", { name: "x" }, { "if-match": '"1"' }), 412)
    assertRefused(await flags(service, "DELETE /segments/s.pro", undefined, { "if-match": '"1"' }), 412)

    await flags(service, "DELETE /s.flag")
    for (const segment of ["s.outer", "s.pro"]) {
      assert.deepStrictEqual((await flags(service, `DELETE /segments/${segment}`)).json, success)
    }
    await refused("GET /segments/s.pro", undefined, 404, "SEGMENT_NOT_FOUND")
    await refused("DELETE /segments/s.pro", undefined, 404, "SEGMENT_NOT_FOUND")
    const history = (await flags(service, "GET /segments/s.pro/history")).json as ReadonlyArray<FlagHistoryEntry>
    assert.deepStrictEqual(
      history.map(({ action }) => action),
      ["deleted", "updated", "created"]
    )
  })
})

describe("evaluation", () => {
  it("has every reason, for one flag or many, with metadata", async () => {
    await makeFlag(service, "e.static")
    await makeFlag(service, "e.rule", { targeting: { if: [pro, "on", null] } })
    await makeFlag(service, "e.off", { state: "DISABLED", defaultVariant: "on" })
    await makeFlag(service, "e.object", {
      type: "object",
      variants: { a: { n: [1, { x: null }] }, b: {} },
      defaultVariant: "a"
    })
    const context = { targetingKey: "u1", plan: "pro" }
    const status = (await flags(service, "GET /status")).json as Record<string, unknown>
    assert.deepInclude(status, { engine: "embedded", address: null, connected: true, error: null })
    const expected = [
      { key: "e.static", variant: "off", value: false, reason: "STATIC" },
      { key: "e.rule", variant: "on", value: true, reason: "TARGETING_MATCH" },
      { key: "e.off", variant: "on", value: true, reason: "DISABLED" },
      { key: "e.object", variant: "a", value: { n: [1, { x: null }] }, reason: "STATIC" }
    ].map((result) =>
      Object.assign(result, { metadata: { flagSetId: "production", version: String(status["revision"]) } })
    )
    for (const result of expected) assert.deepStrictEqual(await evaluate(service, result.key, context), result as never)
    assert.deepInclude(await evaluate(service, "e.rule"), { variant: "off", reason: "DEFAULT" })
    const bulk = await flags(service, "POST /evaluate/bulk", {
      flagKeys: ["e.off", "nothing", "e.rule", "e.off"],
      context
    })
    const { flags: results } = bulk.json as { readonly flags: ReadonlyArray<Readonly<Record<string, unknown>>> }
    assert.deepStrictEqual<ReadonlyArray<unknown>>(results, [
      expected[2],
      { key: "nothing", errorCode: "FLAG_NOT_FOUND", errorDetails: results[1]?.["errorDetails"] },
      expected[1],
      expected[2]
    ])
    const inDev = await flags(service, "POST /evaluate?environment=dev", { flagKey: "e.static" })
    assert.deepInclude((inDev.json as { readonly metadata: object }).metadata, { flagSetId: "dev" })
    await refused("POST /evaluate", { flagKey: "nothing" }, 404, "FLAG_NOT_FOUND")
  })

  it("returns the same variant for the same targeting key, in about the given shares", async () => {
    const bucket = { cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] }
    await makeFlag(service, "e.split", { targeting: { fractional: [bucket, ["on", 25], ["off", 75]] } })
    const variants = new Map<string, number>()
    for (let n = 0; n < 400; n++) {
      const { variant } = await evaluate(service, "e.split", { targetingKey: `user-${n % 200}` })
      if (n >= 200) variants.set(variant ?? "", (variants.get(variant ?? "") ?? 0) + 1)
      else variants.set(`${n}`, variant === "on" ? 1 : 0)
    }
    const first = Array.from({ length: 200 }, (_, n) => variants.get(`${n}`) ?? 0).reduce((a, b) => a + b)
    assert.strictEqual(variants.get("on"), first)
    assert.isAbove(first, 25)
    assert.isBelow(first, 75)
  })

  it("accepts any JSON object as context, and nothing else", async () => {
    await makeFlag(service, "e.context", {
      type: "string",
      variants: { key: "k", proto: "p", none: "n" },
      targeting: {
        if: [
          { "==": [{ var: "$flagd.flagKey" }, "e.context"] },
          { if: [{ var: "__proto__.polluted" }, "proto", { if: [{ var: "constructor" }, "proto", "key"] }] },
          "none"
        ]
      },
      defaultVariant: "none"
    })
    const raw = (text: string) => flags(service, "POST /evaluate", `{"flagKey":"e.context","context":${text}}`)
    for (const [text, value] of [
      ["{}", "k"],
      ['{"$flagd":{"flagKey":"other"}}', "k"],
      ['{"$flagd":null}', "k"],
      ['{"__proto__":{"polluted":true}}', "p"],
      ['{"constructor":1}', "p"],
      [`{"text":"${"x".repeat(65_000)}"}`, "k"],
      ['{"a":"\\u0000\\ud800"}', "k"],
      ['{"a":1e308,"b":-0,"c":12345678901234567890}', "k"],
      [`{"a":${"[".repeat(60)}${"]".repeat(60)}}`, "k"]
    ] as const) {
      const reply = await raw(text)
      assert.strictEqual(reply.status, 200, text.slice(0, 80))
      assert.strictEqual((reply.json as { readonly value: string }).value, value, text.slice(0, 80))
    }
    assert.isUndefined(({} as { polluted?: unknown }).polluted)
    for (const text of [
      "[]",
      "null",
      '"x"',
      "1",
      '{"a":NaN}',
      "{",
      `{"a":1e999}`,
      `{"a":${"[".repeat(100)}${"]".repeat(100)}}`
    ]) {
      assertRefused(await raw(text), 400)
    }
    assertRefused(await raw(`{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}`), 400)
    assertRefused(await raw(`{"a":"${"x".repeat(65_536)}"}`), 413, "PAYLOAD_TOO_LARGE")
  })

  it("rejects invalid requests", async () => {
    for (const body of [
      {},
      { flagKey: 1 },
      { flagKey: null },
      [],
      "null",
      "1",
      { flagKey: "x", environment: "test" }
    ]) {
      await refused("POST /evaluate", body, 400)
    }
    for (const body of [
      {},
      { flagKeys: [] },
      { flagKeys: "x" },
      { flagKeys: ["x", 1] },
      { flagKeys: Array.from({ length: 1001 }, String) },
      { flagKeys: ["x"], context: [] },
      { flagKeys: ["x"], environment: null }
    ]) {
      await refused("POST /evaluate/bulk", body, 400)
    }
    await refused("POST /evaluate?environment=dev", { flagKey: "x", environment: "staging" }, 400)
    const largest = await flags(service, "POST /evaluate/bulk", { flagKeys: Array.from({ length: 1000 }, String) })
    assert.lengthOf((largest.json as { readonly flags: ReadonlyArray<unknown> }).flags, 1000)
    const type = { "content-type": "text/plain" }
    assertRefused(await flags(service, "POST /evaluate", "{}", type), 415)
    for (const line of ["GET /evaluate", "PUT /evaluate", "DELETE /evaluate/bulk", "GET /evaluate/bulk"]) {
      const reply = await flags(service, line, line.startsWith("PUT") ? {} : undefined)
      assert.oneOf(reply.status, [404, 405], line)
    }
  })
})

describe("access", () => {
  const lines = [
    "GET ",
    "GET /status",
    "GET /w.flag",
    "GET /w.flag/history",
    "GET /segments",
    "GET /segments/w",
    "GET /segments/w/history",
    "POST /evaluate",
    "POST /evaluate/bulk"
  ]
  const writes = [
    "POST ",
    "PUT /w.flag",
    "DELETE /w.flag",
    "PATCH /w.flag/toggle",
    "POST /w.flag/promote",
    "POST /segments",
    "PUT /segments/w",
    "DELETE /segments/w"
  ]
  it("requires any valid key to read and evaluate, and a service_role key to write", async () => {
    await makeFlag(service, "w.flag")
    await makeSegment(service, "w", pro)
    const { secret, key: made } = (await ask(service, "POST /api/keys", { key, body: { keyType: "anon" } })).json as {
      readonly key: { readonly id: number }
      readonly secret: string
    }
    await ask(service, `DELETE /api/keys/${made.id}`, { key })
    for (const line of [...lines, ...writes]) {
      const [method, path = ""] = line.split(" ")
      const body = method === "GET" || method === "DELETE" ? {} : { body: { flagKey: "w.flag", flagKeys: ["w.flag"] } }
      const as = (given?: string) => ask(service, `${method} /api/flags${path}`, { key: given, ...body })
      for (const bad of [undefined, "", "x", secret]) assertRefused(await as(bad), 401)
      const reply = await as(service.anon)
      if (lines.includes(line)) assert.strictEqual(reply.status, 200, `${line}: ${reply.text}`)
      else assertRefused(reply, 403)
    }
  })
})

describe("paths", () => {
  it("of segments, status and evaluation are not keys of flags", async () => {
    for (const reserved of ["segments", "evaluate", "status"]) {
      await refused("POST ", { key: reserved, type: "boolean", variants: { on: true }, defaultVariant: "on" }, 400)
    }
    await makeSegment(service, "history", pro)
    assert.deepInclude((await flags(service, "GET /segments/history")).json, { key: "history" })
    assert.lengthOf((await flags(service, "GET /segments/history/history")).json as ReadonlyArray<unknown>, 1)
    assert.strictEqual((await flags(service, "PATCH /segments")).headers.get("allow")?.includes("POST"), true)
    await refused("PATCH /segments", undefined, 405, "METHOD_NOT_ALLOWED")
    await refused("PUT /segments", {}, 404, "FLAG_NOT_FOUND")
  })

  it("return 404 for unusual keys", async () => {
    const odd = ["a%2Fb", "%00", "%20", "..%2f", "%F0%9F%8E%89", "a%25b", "x".repeat(4_000), "__proto__", "constructor"]
    for (const one of odd) {
      for (const line of [`GET /${one}`, `GET /${one}/history`, `DELETE /${one}`, `PATCH /${one}/toggle`]) {
        await refused(line, undefined, 404, "FLAG_NOT_FOUND")
      }
      await refused(`PUT /${one}`, { description: "x" }, 404, "FLAG_NOT_FOUND")
      await refused(`POST /${one}/promote`, { from: "dev", to: "staging" }, 404, "FLAG_NOT_FOUND")
      for (const line of [`GET /segments/${one}`, `GET /segments/${one}/history`, `DELETE /segments/${one}`]) {
        await refused(line, undefined, 404, "SEGMENT_NOT_FOUND")
      }
      await refused(`PUT /segments/${one}`, { name: "x" }, 404, "SEGMENT_NOT_FOUND")
    }
    for (const one of ["%ff", "%zz"]) await refused(`GET /${one}`, undefined, 400)
    await refused("GET /a/b/c", undefined, 404)
    for (const bad of ["", " ", "a b", "a/b", "ä", ".a", "-a", "x".repeat(129), "a\0", 1, null]) {
      await refused("POST ", { key: bad, type: "boolean", variants: { on: true }, defaultVariant: "on" }, 400)
      await refused("POST /segments", { key: bad, rules: pro }, 400)
    }
  })
})
