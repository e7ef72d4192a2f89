import { PutBucketVersioningCommand } from "@aws-sdk/client-s3"
import { afterAll, assert, beforeAll, it } from "vitest"
import { backUp, backupOver, showBackup } from "../../support/backups/calls.ts"
import { ask, assertRefused } from "../../support/client.ts"
import { type Service, startService, until } from "../../support/service.ts"
import { makeBuckets } from "../../support/storage/buckets.ts"

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

const call = (line: string, body?: unknown) =>
  ask(service, line, { key: service.service_role, ...(body === undefined ? {} : { body }) })
const write = (bucket: string, key: string, content: string) =>
  call(`POST /api/storage/buckets/${bucket}/objects/upload-text`, { key, content, contentType: "text/plain" })

it("a backup names the objects that it saw, and a restore those that are gone", async () => {
  for (const name of ["kept", "versions"]) await call("POST /api/storage/buckets", { name })
  const s3 = await makeBuckets(service).s3Of("versions")
  const VersioningConfiguration = { Status: "Enabled" } as const
  await s3.send(new PutBucketVersioningCommand({ Bucket: "versions", VersioningConfiguration }))
  s3.destroy()
  for (const key of ["a", "b/c d", "é"]) await write("kept", key, key)
  for (const content of ["one", "two"]) await write("versions", "k", content)
  const { id } = await backUp(service)
  assert.deepInclude(await backupOver(service, id), { status: "completed", object_count: 4, warnings: [] })
  const listed = await call(`GET /api/backups/${id}/objects`)
  assert.strictEqual(listed.headers.get("content-type"), "application/x-ndjson")
  const lines = listed.text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepStrictEqual(
    lines.map(({ bucket, key }) => `${String(bucket)}/${String(key)}`),
    ["kept/a", "kept/b/c d", "kept/é", "versions/k"]
  )
  assert.match(String(lines[0]?.["etag"]), /^[0-9a-f]{32}$/)
  assert.isUndefined(lines[0]?.["version"])
  assert.match(String(lines[3]?.["version"]), /^[0-9a-f]{32}$/)

  await call("DELETE /api/storage/buckets/kept/objects?key=a")
  await write("kept", "é", "other")
  await write("versions", "k", "three")
  const lost = (await call(`GET /api/backups/${id}/objects/lost`)).json
  assert.deepInclude(lost, { gone: 1, changed: 2, is_truncated: false })
  const made = await call(`POST /api/backups/${id}/restore`)
  assert.strictEqual(made.status, 201, made.text)
  const { restores } = await until(
    () => showBackup(service, id),
    ({ restores }) => typeof restores[0]?.objects_gone === "number"
  )
  assert.deepInclude(restores[0], { status: "completed", objects_gone: 1, objects_changed: 2 })
  assertRefused(await call("GET /api/backups/999999/objects"), 404, "BACKUP_NOT_FOUND")
  assertRefused(await ask(service, `GET /api/backups/${id}/objects`, { key: service.anon }), 403)
})
