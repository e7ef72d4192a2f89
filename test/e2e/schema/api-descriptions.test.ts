import { PostgrestClient } from "@supabase/postgrest-js"
import { Validator } from "@seriousme/openapi-schema-validator"
import { readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { runToEnd } from "../../support/service.ts"

const service = inject("service")

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

beforeAll(async () => {
  await sql(service, "create table described (id int primary key, note text not null default 'x')")
  await sql(service, "revoke all on described from anon")
})

describe("/v1/db/", () => {
  it("is valid OpenAPI 3.1, with and without a trailing slash", async () => {
    for (const path of ["/v1/db/", "/v1/db"]) {
      const reply = await ask(service, `GET ${path}`, { key: service.service_role })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(reply.headers.get("content-type"), "application/openapi+json; charset=utf-8")
      const { errors, valid } = await new Validator().validate(reply.json as Record<string, unknown>)
      assert.isTrue(valid, JSON.stringify(errors))
      assert.property((reply.json as Document).paths, "/described")
    }
  })

  it("has the media type that Accept prefers", async () => {
    const typeOf = async (accept: string) => {
      const reply = await ask(service, "GET /v1/db/", { key: service.anon, headers: { accept } })
      return reply.status === 200 ? reply.headers.get("content-type") : assertRefused(reply, 406, "PGRST107")["error"]
    }
    const openApi = "application/openapi+json; charset=utf-8"
    const json = "application/json; charset=utf-8"
    assert.strictEqual(await typeOf("application/openapi+json"), openApi)
    assert.strictEqual(await typeOf("text/html,application/xml;q=0.9,*/*;q=0.8"), openApi)
    assert.strictEqual(await typeOf("application/json"), json)
    assert.strictEqual(await typeOf("application/openapi+json;q=0.5, application/json"), json)
    assert.strictEqual(await typeOf("text/csv"), "None of these media types are available: text/csv")
    assert.strictEqual(
      await typeOf("application/json;q=0"),
      "None of these media types are available: application/json;q=0"
    )
  })

  it("has no body for HEAD, and allows no other methods", async () => {
    const reply = await ask(service, "HEAD /v1/db/", { key: service.anon })
    assert.deepStrictEqual([reply.status, reply.text], [200, ""])
    assert.strictEqual(reply.headers.get("content-type"), "application/openapi+json; charset=utf-8")
    for (const path of ["/v1/db/", "/v1/db"]) {
      const posted = await ask(service, `POST ${path}`, { key: service.anon, body: {} })
      assertRefused(posted, 405, "PGRST117")
      assert.strictEqual(posted.headers.get("allow"), "OPTIONS,GET,HEAD")
      const options = await ask(service, `OPTIONS ${path}`, { key: service.anon })
      assert.deepStrictEqual([options.status, options.headers.get("allow")], [200, "OPTIONS,GET,HEAD"])
    }
  })

  it("requires a key and an exposed schema", async () => {
    assertRefused(await ask(service, "GET /v1/db/"), 401)
    const headers = { "accept-profile": "svc" }
    assertRefused(await ask(service, "GET /v1/db/", { key: service.service_role, headers }), 406, "PGRST106")
  })

  it("describes the tables and functions that a role has privileges for, immediately", async () => {
    const paths = async () => ((await ask(service, "GET /v1/db/", { key: service.anon })).json as Document).paths
    assert.notProperty(await paths(), "/described")
    await sql(service, "grant select on described to anon")
    assert.deepStrictEqual(Object.keys((await paths())["/described"] ?? {}), ["get"])
    await sql(service, "revoke select on described from anon")
    assert.notProperty(await paths(), "/described")
  })

  it("is accepted by PostgrestClient", async () => {
    const client = new PostgrestClient(`${service.url}/v1/db`, { headers: { apikey: service.service_role } })
    const { data, error } = await client.getOpenApiSpec()
    assert.isNull(error)
    assert.property(data?.paths, "/described")
  })
})

describe("types of the database", () => {
  const generate = (...args: ReadonlyArray<string>) => runToEnd({}, ["dist/svc.mjs", "gen-types", ...args])

  it("are returned to service keys only", async () => {
    const reply = await ask(service, "GET /v1/database/types.ts?schema=public", { key: service.service_role })
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.headers.get("content-type"), "text/plain; charset=utf-8")
    assert.match(reply.text, /^ {6}described: \{$/m)
    assertRefused(await ask(service, "GET /v1/database/types.ts", { key: service.anon }), 403)
    assertRefused(await ask(service, "GET /v1/database/types.ts"), 401)
    const unknown = await ask(service, "GET /v1/database/types.ts?schema=svc", { key: service.service_role })
    assertRefused(unknown, 400, "INVALID_REQUEST")
  })

  it("are written by svc gen-types", async () => {
    const out = join(tmpdir(), `svc-types-${process.pid}.ts`)
    const how = ["--key", service.service_role, "--url", service.url, "--schema", "public"]
    try {
      const written = await generate(...how, "--out", out)
      assert.deepStrictEqual([written.code, written.output], [0, `${out}: written\n`])
      const source = await readFile(out, "utf8")
      assert.match(source, /^ {6}described: \{$/m)
      assert.strictEqual((await generate(...how)).output, source)
    } finally {
      await rm(out, { force: true })
    }
  })

  it("are not written without a valid key, a service and valid options", async () => {
    const outcome = async (...args: ReadonlyArray<string>) => {
      const { code, output } = await generate(...args)
      return `${code} ${output.split("\n")[0]}`
    }
    const url = service.url
    assert.strictEqual(
      await outcome("--key", "nope", "--url", url),
      `1 ${url} responded with 401: Unknown or revoked API key: send a valid one in the header apikey`
    )
    assert.match(
      await outcome("--key", "nope", "--url", "http://127.0.0.1:9"),
      /^1 Failed to fetch from http:\/\/127\.0\.0\.1:9: /
    )
    assert.match(await outcome("--url", url), /^1 There is no service_role key: set SVC_SERVICE_KEY/)
    assert.match(await outcome("--nope"), /^2 svc: .*--nope/)
  })
})
