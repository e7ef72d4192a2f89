import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Environment } from "../../../src/domain/environments/Environment.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { type S3, startS3 } from "../../support/storage/s3.ts"
import { type Service, startService, until } from "../../support/service.ts"
import { startTcpGate } from "../../support/connections/tcpGate.ts"

const ofProject = "/api/projects/default/environments"
const call = (service: Service, line: string, body?: unknown, key = service.service_role) =>
  ask(service, line, { key, ...(body === undefined ? {} : { body }) })
const make = (service: Service, slug: string) => call(service, `POST ${ofProject}`, { name: slug, slug })
const list = async (service: Service) =>
  ((await call(service, `GET ${ofProject}`)).json as ReadonlyArray<Environment>).map(({ slug }) => slug)
const schemas = async (service: Service) =>
  (await sql(service, "select nspname::text as n from pg_namespace where nspname ~ '^(project|app)_' order by 1")).map(
    ({ n }) => n
  )
const buckets = async (service: Service) =>
  ((await call(service, "GET /api/storage/buckets")).json as { buckets: ReadonlyArray<{ name: string }> }).buckets.map(
    ({ name }) => name
  )
const drafts = (service: Service) => sql(service, "table svc.environment_drafts")

describe("a service with prefixes for its environments", () => {
  let service: Service
  beforeAll(async () => {
    const env = { SVC_PROJECT_SCHEMA: "app", SVC_PROJECT_BUCKET: "shop.app", SVC_MAX_ENVIRONMENTS: "3" }
    service = await startService({ env: { ...env, SVC_DB_SCHEMAS: "public,app_dev" } })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it("creates, shows, changes and deletes them", async () => {
    assert.deepStrictEqual((await call(service, `GET ${ofProject}`)).json, [])
    const first = await call(service, `POST ${ofProject}`, { name: "Development", slug: "dev", config: { a: 1 } })
    assert.strictEqual(first.status, 201, first.text)
    const dev = first.json as Environment
    const { created_at, id, updated_at, ...rest } = dev
    assert.deepStrictEqual(rest as object, {
      project_id: "default",
      name: "Development",
      slug: "dev",
      is_default: true,
      schema_name: "app_dev",
      bucket_name: "shop.app-dev",
      config: { a: 1 },
      deleted_at: null
    })
    assert.match(created_at, /^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)
    assert.strictEqual(updated_at, created_at)
    assert.deepStrictEqual((await call(service, `GET /api/environments/${id}`)).json, dev)

    const stage = (await make(service, "my-stage")).json as Environment
    assert.isFalse(stage.is_default)
    assert.deepStrictEqual(await schemas(service), ["app_dev", "app_my-stage"])
    assert.deepStrictEqual(await buckets(service), ["shop.app-dev", "shop.app-my-stage"])

    const changed = await call(service, `PATCH /api/environments/${id}`, { name: "D", config: { b: {} } })
    assert.strictEqual(changed.status, 200, changed.text)
    assert.deepInclude(changed.json as Environment, { name: "D", config: { a: 1, b: {} }, created_at })
    assert.deepStrictEqual((await call(service, `PATCH /api/environments/${id}`, changed.json)).status, 200)
    assert.deepStrictEqual((await call(service, `PATCH /api/environments/${id}`, {})).status, 200)

    const at = `/api/environments/${id}`
    assertRefused(await call(service, `DELETE ${at}`), 409, "ENVIRONMENT_IS_DEFAULT")
    assertRefused(await call(service, `PATCH ${at}`, { is_default: false }), 400, "INVALID_REQUEST")
    const moved = await call(service, `PATCH /api/environments/${stage.id}`, { is_default: true })
    assert.isTrue((moved.json as Environment).is_default)
    assert.isFalse(((await call(service, `GET ${at}`)).json as Environment).is_default)
    assert.deepStrictEqual((await call(service, `DELETE ${at}`)).json, { success: true })
    for (const line of [`GET ${at}`, `DELETE ${at}`]) {
      assertRefused(await call(service, line), 404, "ENVIRONMENT_NOT_FOUND")
    }
    assertRefused(await call(service, `PATCH ${at}`, { name: "x" }), 404, "ENVIRONMENT_NOT_FOUND")
    assert.deepStrictEqual(await list(service), ["my-stage"])
    const all = (await call(service, `GET ${ofProject}?include_deleted=true`)).json as ReadonlyArray<Environment>
    assert.match(all[0]?.deleted_at ?? "", /Z$/)
    assert.deepStrictEqual(await schemas(service), ["app_dev", "app_my-stage"])
    assertRefused(await make(service, "dev"), 409, "SCHEMA_EXISTS")
  })

  it("creates schemas that the service role owns, and that /v1/db serves if SVC_DB_SCHEMAS has them", async () => {
    await sql(service, "create table app_dev.notes (id int primary key)")
    await sql(service, `create table "app_my-stage".notes (id int primary key)`)
    const read = (profile: string) =>
      ask(service, "GET /v1/db/notes", { key: service.service_role, headers: { "accept-profile": profile } })
    assert.deepStrictEqual((await read("app_dev")).json, [])
    assert.strictEqual((await read("app_my-stage")).status, 406)
    const owners = await sql(
      service,
      "select distinct nspowner::regrole::text as o from pg_namespace where nspname ~ '^app_'"
    )
    assert.deepStrictEqual(owners, [{ o: "postgres" }])
  })

  it("rejects invalid values, for each field", async () => {
    const cases: ReadonlyArray<readonly [body: unknown, message: RegExp]> = [
      [{}, /name.*slug/s],
      [{ name: "", slug: "A" }, /name: .*slug: Expected lower-case/s],
      [{ name: "a", slug: "s".repeat(55) }, /slug: Expected at most 54 characters/],
      [{ name: "a", slug: "s3alias" }, /slug: .*-s3alias/],
      [{ name: "a", slug: "a", config: [] }, /config: Expected object/],
      [{ name: "a", slug: "a", config: { x: { y: "\0" } } }, /config\.x\.y: Expected text without NUL/],
      ["{", /./],
      [[], /./]
    ]
    for (const [body, message] of cases) {
      const reply = await call(service, `POST ${ofProject}`, body)
      assertRefused(reply, 400)
      assert.match(reply.text, message)
    }
    const deep = `{"name":"a","slug":"a","config":{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}}`
    assertRefused(await call(service, `POST ${ofProject}`, deep), 400, "JSON_TOO_COMPLEX")
    for (const id of ["99999999999", "0", "-1", "9007199254740991"]) {
      assertRefused(await call(service, `GET /api/environments/${id}`), 404, "ENVIRONMENT_NOT_FOUND")
    }
    for (const id of ["x", "1.5", "1e300", "%00"]) {
      assertRefused(await call(service, `GET /api/environments/${id}`), 400, "INVALID_REQUEST")
    }
    for (const id of ["other", "Default", "%00", "%F0%9F%98%80"]) {
      for (const [method, body] of [["GET"], ["POST", { name: "a", slug: "a" }]] as const) {
        assertRefused(await call(service, `${method} /api/projects/${id}/environments`, body), 404, "PROJECT_NOT_FOUND")
      }
    }
    assert.deepStrictEqual(await list(service), ["my-stage"])
  })

  it("requires a service_role key", async () => {
    for (const line of [`GET ${ofProject}`, "GET /api/environments/1", "DELETE /api/environments/1"]) {
      assertRefused(await call(service, line, undefined, service.anon), 403, "FORBIDDEN")
      assertRefused(await ask(service, line), 401)
    }
  })

  it("creates one at a time, up to the limit", async () => {
    const replies = await Promise.all(["a", "b", "c", "a", "b", "c"].map((slug) => make(service, slug)))
    const made = replies.filter(({ status }) => status === 201)
    assert.lengthOf(made, 2)
    for (const reply of replies) {
      if (reply.status === 201) continue
      assertRefused(reply, reply.status, reply.status === 403 ? "ENVIRONMENT_LIMIT" : "ENVIRONMENT_EXISTS")
    }
    assert.lengthOf(await list(service), 3)
    assert.lengthOf(await buckets(service), 4)
    assert.lengthOf(await schemas(service), 4)
  })
})

describe("when the store", () => {
  let s3: S3
  let gate: Awaited<ReturnType<typeof startTcpGate>>
  let dataDir: string
  let service: Service
  const start = async () => {
    service = await startService({
      dataDir,
      env: {
        S3_ENDPOINT: gate.url,
        S3_ACCESS_KEY: s3.credentials.accessKeyId,
        S3_SECRET_KEY: s3.credentials.secretAccessKey,
        S3_TIMEOUT: "2s"
      }
    })
  }
  beforeAll(async () => {
    s3 = await startS3()
    gate = await startTcpGate(s3.endpoint)
    dataDir = await makeDataDir()
    await start()
  })
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    await gate.stop()
    await s3.stop()
    await removeDataDir(dataDir)
  })
  const nothing = async () => {
    assert.deepStrictEqual(await list(service), [])
    assert.deepStrictEqual(await schemas(service), [])
    assert.deepStrictEqual(await buckets(service), [])
    assert.deepStrictEqual(await drafts(service), [])
  }

  it("is down, returns 502 and creates nothing", async () => {
    gate.refusing = true
    assertRefused(await make(service, "dev"), 502, "STORE_UNAVAILABLE")
    gate.refusing = false
    await nothing()
  })

  it("creates the bucket without responding, returns 504 and removes the bucket", async () => {
    gate.holding = "PUT /project-dev"
    assertRefused(await make(service, "dev"), 504, "STORE_TIMEOUT")
    gate.holding = undefined
    await nothing()
  })

  it("has created the bucket before the service is killed, removes it at the next start", async () => {
    const held = new Promise<void>((done) => (gate.whenHeld = done))
    gate.holding = "PUT /project-dev"
    const lost = make(service, "dev").then(
      () => "answered",
      () => "lost"
    )
    await held
    await service.stop("SIGKILL")
    gate.holding = undefined
    assert.strictEqual(await lost, "lost")
    await start()
    assert.deepStrictEqual(
      await until(
        () => drafts(service),
        (left) => left.length === 0
      ),
      []
    )
    await nothing()
    // The next call succeeds.
    assert.strictEqual((await make(service, "dev")).status, 201)
    assertRefused(await make(service, "second"), 403, "ENVIRONMENT_LIMIT")
    assert.deepStrictEqual(await buckets(service), ["project-dev"])
  })

  it("is down at the start, starts the service nevertheless", async () => {
    await sql(service, "insert into svc.environment_drafts (bucket_name) values ('project-x')")
    await service.stop()
    gate.refusing = true
    await start()
    assert.deepStrictEqual(await list(service), ["dev"])
    gate.refusing = false
  })
})
