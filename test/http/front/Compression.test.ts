import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { compressedRoutes } from "../../../src/http/front/Compression.ts"
import { document, routes } from "../../../src/http/OpenApi.ts"
import { preferredEncoding } from "../../../src/http/wire/Encoding.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({})
  await sql(service, "create table words (id int primary key, word text)")
  await sql(service, "insert into words select n, 'word number ' || n from generate_series(1, 5000) n")
  await sql(
    service,
    `create function own_type() returns text language plpgsql as $$ begin
       perform set_config('response.headers', '[{"Content-Type": "image/png"}]', true); return repeat('x', 5000); end $$`
  )
})
afterAll(() => service[Symbol.asyncDispose]())

const accepting = async (
  encoding: string | undefined,
  line: string,
  at: InProcessService = service,
  body?: unknown
) => {
  const reply = await ask(at, line, {
    key: at.service_role,
    headers: { "accept-encoding": encoding ?? "identity" },
    ...(body === undefined ? {} : { body })
  })
  return {
    ...reply,
    encoding: reply.headers.get("content-encoding"),
    length: Number(reply.headers.get("content-length"))
  }
}

describe("a response of more than a kilobyte", () => {
  it.each([
    ["100 rows", "GET /v1/db/words?limit=100", undefined],
    ["5000 rows", "GET /v1/db/words", undefined],
    ["SQL", "POST /v1/sql", { sql: "select * from words limit 100" }],
    ["the schema", "GET /v1/database/schema", undefined],
    ["its types", "GET /v1/database/types.ts", undefined],
    ["its OpenAPI document", "GET /v1/db/", undefined]
  ])("is the same, and smaller, for clients that accept an encoding: %s", async (_name, line, body) => {
    const plain = await accepting(undefined, line, service, body)
    assert.isNull(plain.encoding)
    assert.isAtLeast(plain.length, 1024)
    for (const encoding of ["gzip", "br"]) {
      const small = await accepting(encoding, line, service, body)
      assert.deepStrictEqual([small.status, small.encoding, small.text], [plain.status, encoding, plain.text])
      assert.isBelow(small.length, plain.length / 2)
      assert.match(small.headers.get("vary") ?? "", /(^|, )Accept-Encoding(,|$)/)
    }
  })

  it("is not sent again to clients that have it", async () => {
    for (const line of ["GET /v1/database/schema", "GET /v1/database/types.ts", "GET /v1/db/"]) {
      const read = (headers: Readonly<Record<string, string>>) =>
        ask(service, line, { key: service.service_role, headers })
      const first = await read({ "accept-encoding": "br" })
      const etag = first.headers.get("etag") ?? ""
      assert.match(etag, /^W\/"[\w-]{22}"$/)
      for (const encoding of ["br", "gzip", "identity"]) {
        const again = await read({ "if-none-match": `"other", ${etag}`, "accept-encoding": encoding })
        assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag], line)
      }
      assert.strictEqual((await read({ "if-none-match": '"other"' })).status, 200)
      assert.strictEqual((await read({ "if-none-match": "other" })).status, 400)
      await sql(service, `create table "made ${line}" (id int)`)
      assert.strictEqual((await read({ "if-none-match": etag })).status, 200)
    }
  })

  it("is sent as it is where an encoding has no use, or is not wanted", async () => {
    for (const [encoding, line] of [
      ["gzip;q=0, br;q=0", "GET /v1/db/words"],
      ["zstd", "GET /v1/db/words"],
      ["gzip", "GET /v1/db/words?limit=2"],
      ["gzip", "HEAD /v1/db/words"],
      ["gzip", "GET /v1/db/rpc/own_type"],
      ["gzip", `GET /v1/db/words?select=${"x".repeat(2000)}`]
    ] as const) {
      assert.isNull((await accepting(encoding, line)).encoding, line)
    }
  })

  it("keeps the ETag that If-Match needs", async () => {
    const flag = {
      key: "big",
      type: "boolean",
      variants: { on: true, off: false },
      defaultVariant: "on",
      state: "ENABLED"
    }
    await accepting("gzip", "POST /api/flags", service, { ...flag, description: "d".repeat(1500) })
    const found = await accepting("gzip", "GET /api/flags/big")
    assert.match(found.headers.get("etag") ?? "", /^"\d+"$/)
    assert.isNull(found.encoding)
    assert.strictEqual((await accepting("gzip", "GET /api/flags")).encoding, "gzip")
  })

  it("is sent as it is with SVC_COMPRESSION=false", async () => {
    await using off = await serveInProcess({ SVC_COMPRESSION: "false" })
    const reply = await accepting("gzip, br", "GET /v1/database/schema", off)
    assert.deepStrictEqual([reply.status, reply.encoding], [200, null])
  })
})

describe("the routes that may be compressed", () => {
  const all = new Set([...routes].flatMap(([path, methods]) => methods.map((method) => `${method} ${path}`)))

  interface Node {
    readonly $ref?: string
    readonly properties?: Readonly<Record<string, Node>>
    readonly [other: string]: unknown
  }

  const { components, paths } = document() as unknown as {
    readonly components: { readonly schemas: Readonly<Record<string, Node>> }
    readonly paths: Readonly<
      Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Node>> }>>>
    >
  }

  /** The names of all fields below a node. */
  const fieldsOf = (node: unknown, seen = new Set<unknown>()): ReadonlyArray<string> => {
    if (typeof node !== "object" || node === null || seen.has(node)) return []
    seen.add(node)
    const { $ref, properties } = node as Node
    const referred = $ref === undefined ? undefined : components.schemas[$ref.split("/").at(-1) ?? ""]
    return [
      ...Object.keys(properties ?? {}),
      ...Object.values(node).flatMap((inner) => fieldsOf(inner, seen)),
      ...fieldsOf(referred, seen)
    ]
  }

  const secret =
    /secret|passw|token|credential|cookie|session|signature|private|connection|(^|_)(codes?|url|key|link)$/i
  /** Pages and names that are no secrets. */
  const harmless = new Set(["next_continuation_token", "key", "primary_key", "object_key", "has_secret", "code"])

  it("all exist", () => {
    assert.deepStrictEqual(
      Array.from(compressedRoutes).filter((route) => !all.has(route)),
      []
    )
  })

  it("return nothing that may be a secret", () => {
    for (const route of compressedRoutes) {
      const [method = "", path = ""] = route.split(" ")
      const operation = paths[path]?.[method.toLowerCase()]
      const found = Object.entries(operation?.responses ?? {})
        .filter(([status]) => status.startsWith("2"))
        .flatMap(([, response]) => fieldsOf(response))
      assert.deepStrictEqual(
        found.filter((field) => secret.test(field) && !harmless.has(field)),
        [],
        route
      )
    }
  })

  it("are no others", async () => {
    // A key's label, which its creator chooses, is next to its secret.
    const made = await accepting("gzip, br", "POST /api/keys", service, { keyType: "anon", label: "l".repeat(100) })
    assert.deepStrictEqual([made.status, made.encoding], [201, null])
    for (const line of ["GET /api/settings", "GET /api/audit", "GET /api/requests", "GET /v1/keys"]) {
      const reply = await accepting("gzip, br", line)
      assert.deepStrictEqual([reply.status, reply.encoding], [200, null], line)
    }
  })
})

describe("preferredEncoding", () => {
  it.each([
    [undefined, undefined],
    ["", undefined],
    ["gzip", "gzip"],
    ["gzip, br", "br"],
    ["GZIP;q=1.0, br;q=0.5", "gzip"],
    ["br;q=0, gzip;q=0.001", "gzip"],
    ["*", "br"],
    ["*;q=0", undefined],
    ["br;q=0, *", "gzip"],
    ["deflate, identity", undefined],
    ["gzip;q=x", undefined]
  ])("%s: %s", (header, expected) => {
    assert.strictEqual(preferredEncoding(header, ["br", "gzip"]), expected)
  })
})
