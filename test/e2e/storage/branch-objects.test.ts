import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { makeBranch } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type Service, startService, until } from "../../support/service.ts"

/** The store is in the parent process, and the API in workers. */
describe.each([{}, { SVC_WORKERS: "2" }])("storage of a branch with %j", (workers) => {
  let service: Service
  let then = ""
  const ids = { past: 0, early: 0, plain: 0 }
  beforeAll(async () => {
    service = await startService({ env: { SVC_PITR: "true", SVC_SUPABASE: "true", ...workers } })
    for (const name of Object.keys(ids) as ReadonlyArray<keyof typeof ids>) {
      ids[name] = (await makeBranch(service, name)).id
    }
    await send("POST /api/storage/buckets", { name: "files" })
    // The bucket of the files of /storage/v1 is there, too.
    await send("POST /storage/v1/bucket", { name: "avatars" })
    const uploaded = await fetch(`${service.url}/storage/v1/object/avatars/a.txt`, {
      method: "POST",
      headers: { apikey: service.service_role, "content-type": "text/plain" },
      body: "a"
    })
    assert.strictEqual(uploaded.status, 200, await uploaded.text())
    await write("kept.txt", "first")
    await write("gone.txt", "gone")
    await send(`PUT ${files}/tags`, { key: "kept.txt", tags: { n: "1" } })
    const now = Date.now()
    then = new Date(
      await until(
        async () => Date.now(),
        (time) => time > now
      )
    ).toISOString()
    await until(
      async () => new Date().toISOString(),
      (time) => time > then
    )
    await write("kept.txt", "second")
    await write("new.txt", "new")
    await send(`DELETE ${files}?key=gone.txt`)
    // As a restore to a time records it. Naming the access lets the service forget what it knows of the branch.
    const past = `update svc.branches set access = access, objects_at = $1::timestamptz where id = $2`
    await sql(service, past, [then, String(ids.past)])
    await sql(service, past, ["2020-01-01T00:00:00Z", String(ids.early)])
  })
  afterAll(() => service[Symbol.asyncDispose]())

  const files = "/api/storage/buckets/files/objects"
  const send = async (line: string, body?: unknown, branch?: number | string) => {
    const headers: Record<string, string> = branch === undefined ? {} : { "x-svc-branch": String(branch) }
    return ask(service, line, { key: service.service_role, headers, ...(body === undefined ? {} : { body }) })
  }
  const write = (key: string, content: string) =>
    send(`POST ${files}/upload-text`, { key, content, contentType: "text/plain" })
  const keys = async (branch?: number) =>
    ((await send(`GET ${files}`, undefined, branch)).json as { objects: ReadonlyArray<{ key: string }> }).objects.map(
      ({ key }) => key
    )
  const download = async (key: string, branch?: number) => {
    const made = await send(`POST ${files}/presign-download`, { key }, branch)
    return made.status === 200 ? await (await fetch((made.json as { url: string }).url)).text() : made
  }

  it("shows the objects of its time", async () => {
    assert.deepStrictEqual(await keys(), ["kept.txt", "new.txt"])
    await until(
      () => keys(ids.past),
      (found) => found.includes("gone.txt")
    )
    assert.deepStrictEqual(await keys(ids.past), ["gone.txt", "kept.txt"])
    assert.deepStrictEqual(await keys(ids.plain), ["kept.txt", "new.txt"])
    assert.deepStrictEqual(
      [await download("kept.txt"), await download("kept.txt", ids.past), await download("gone.txt", ids.past)],
      ["second", "first", "gone"]
    )
    const head = await send(`HEAD ${files}/metadata?key=gone.txt`, undefined, ids.past)
    assert.strictEqual(head.headers.get("content-length"), "4")
    const tags = await send(`GET ${files}/tags?key=kept.txt`, undefined, ids.past)
    assert.deepStrictEqual(tags.json, { key: "kept.txt", tags: { n: "1" } })
    const { buckets } = (await send("GET /v1/storage/buckets", undefined, ids.past)).json as {
      buckets: ReadonlyArray<{ name: string }>
    }
    assert.deepStrictEqual(
      buckets.map(({ name }) => name),
      ["files"]
    )
    const branch = await send(`GET /api/branches/${ids.past}`)
    assert.deepInclude(branch.json, { objects_at: then })
  })

  it("is read-only, and names what it does not have", async () => {
    const writes: ReadonlyArray<readonly [string, unknown?]> = [
      ["POST /api/storage/buckets", { name: "made" }],
      ["DELETE /api/storage/buckets/files?force=true"],
      ["PUT /api/storage/buckets/files/policy", { policy: null }],
      ["GET /api/storage/buckets/files/policy"],
      ["PUT /api/storage/buckets/files/cors", { corsRules: [] }],
      [`DELETE ${files}?key=kept.txt`],
      [`POST ${files}/bulk-delete`, { keys: ["kept.txt"] }],
      [`POST ${files}/presign-upload`, { key: "x", contentType: "text/plain" }],
      [`POST ${files}/upload-text`, { key: "x", content: "x", contentType: "text/plain" }],
      [`PATCH ${files}/metadata`, { key: "kept.txt", metadata: { a: "1" } }],
      [`PUT ${files}/tags`, { key: "kept.txt", tags: {} }],
      [`POST ${files}/multipart/init`, { key: "x", contentType: "text/plain" }]
    ]
    for (const [line, body] of writes) {
      assertRefused(await send(line, body, ids.past), 409, "BRANCH_OBJECTS_READ_ONLY")
    }
    assert.deepStrictEqual(await keys(), ["kept.txt", "new.txt"])
    assertRefused(await send(`GET ${files}`, undefined, ids.early), 409, "OBJECTS_NOT_KEPT")
    assertRefused(await send(`POST ${files}/presign-download`, { key: "kept.txt" }, ids.early), 409, "OBJECTS_NOT_KEPT")
    assertRefused(await send(`GET ${files}/tags?key=new.txt`, undefined, ids.past), 404, "OBJECT_NOT_FOUND")
    assertRefused(await send(`GET ${files}`, undefined, 999_999), 404, "BRANCH_NOT_FOUND")
    assert.strictEqual((await send(`GET ${files}`, undefined, "x")).status, 400)
    const reserved = await send("GET /api/storage/buckets/svc-supabase/objects", undefined, ids.past)
    assertRefused(reserved, 403, "BUCKET_RESERVED")
    for (const path of [`GET ${files}`, "GET /v1/storage/buckets"]) {
      for (const id of [ids.past, 999_999]) {
        const headers = { "x-svc-branch": String(id) }
        assert.strictEqual((await ask(service, path, { key: service.anon, headers })).status, 403)
        assert.strictEqual((await ask(service, path, { headers })).status, 401)
      }
    }
  })

  it("refuses a presigned URL of another time", async () => {
    const made = await send(`POST ${files}/presign-download`, { key: "kept.txt" }, ids.past)
    const url = new URL((made.json as { url: string }).url)
    assert.strictEqual(url.searchParams.get("x-svc-objects-at"), String(Date.parse(then)))
    url.searchParams.set("x-svc-objects-at", String(Date.now()))
    assert.strictEqual((await fetch(url)).status, 403)
    url.searchParams.delete("x-svc-objects-at")
    assert.strictEqual((await fetch(url)).status, 403)
  })
})
