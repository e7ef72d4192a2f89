import { CreateBucketCommand } from "@aws-sdk/client-s3"
import { assert, it, vi } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { archivedUntilNow, recoveryState, restoreTo } from "../../support/recovery/calls.ts"
import { runToEnd, startService, until } from "../../support/service.ts"
import { startS3 } from "../../support/storage/s3.ts"

vi.setConfig({ testTimeout: 180_000 })

it("a PostgreSQL of one's own is archived in a bucket, by the login's rights alone, and restored from it", async () => {
  await using postgres = await startOtherPostgres()
  const dataDir = await makeDataDir()
  const s3 = await startS3()
  try {
    await s3.client.send(new CreateBucketCommand({ Bucket: "archive" }))
    await postgres.sql("create role app login createdb createrole bypassrls password 'app'")
    await postgres.sql("create database app owner app")
    const url = new URL(postgres.url)
    Object.assign(url, { username: "app", password: "app", pathname: "/app" })
    const env = {
      DATABASE_URL: url.href,
      S3_ENDPOINT: s3.endpoint,
      S3_ACCESS_KEY: s3.credentials.accessKeyId,
      S3_SECRET_KEY: s3.credentials.secretAccessKey,
      SVC_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
      SVC_SERVICE_ROLE: "app",
      SVC_PITR: "true",
      SVC_PITR_BUCKET: "archive",
      SVC_PITR_DRILL: "false"
    }
    const refused = await runToEnd({ ...env, SVC_DATA_DIR: dataDir })
    assert.include(refused.output, "SVC_PITR requires a database login that may replicate")
    const [, remedy = ""] = /As an administrator: (.*)/.exec(refused.output) ?? []
    await postgres.sql(remedy)
    await using service = await startService({ dataDir, env })
    await sql(service, "create table public.written (n int primary key)")
    await sql(service, "insert into public.written select generate_series(1, 1000)")
    const state = await until(
      () => recoveryState(service),
      ({ latest }) => latest !== null,
      60_000
    )
    assert.strictEqual(state.place, "s3://archive")
    assert.isNull(state.objects)
    assert.isNull(state.same_disk)
    const { latest } = await archivedUntilNow(service)
    await sql(service, "delete from public.written")
    await archivedUntilNow(service)
    const branch = await restoreTo(service, Date.parse(latest ?? ""))
    const { json } = await ask(service, "POST /v1/sql", {
      key: service.service_role,
      headers: { "x-svc-branch": String(branch.id) },
      body: { sql: "select count(*)::int as n from public.written" }
    })
    assert.deepInclude(json as object, { rows: [{ n: 1000 }] })
  } finally {
    await s3.stop()
    await removeDataDir(dataDir)
  }
})
