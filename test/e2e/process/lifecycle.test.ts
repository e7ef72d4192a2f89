import { Agent, request } from "node:http"
import { createServer } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { postmasterOf, runToEnd, startService } from "../../support/service.ts"

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("one data directory", () => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await makeDataDir()
  })
  afterAll(() => removeDataDir(dataDir))

  it("exits on SIGTERM with code 0, despite idle keep-alive connections", async () => {
    const service = await startService({ dataDir })
    await sql(service, "create table kept (n int)")
    const agent = new Agent({ keepAlive: true })
    await new Promise<void>((resolve, reject) => {
      const call = request(`${service.url}/healthz`, { agent }, (response) => response.resume().once("end", resolve))
      call.once("error", reject).end()
    })
    const postmaster = await postmasterOf(service)
    const from = Date.now()
    const end = await service.stop("SIGTERM")
    agent.destroy()
    assert.deepStrictEqual([end.code, end.signal], [0, null], end.output)
    assert.isBelow(Date.now() - from, 5_000)
    assert.isFalse(isAlive(postmaster), "PostgreSQL outlived the service")
  })

  it("finishes requests in progress, then exits on SIGINT with code 0", async () => {
    const service = await startService({ dataDir })
    const slow = ask(service, "POST /v1/sql", {
      key: service.service_role,
      body: { sql: "with t as (insert into kept values (1)) select pg_sleep(0.5)" }
    })
    const running = async () =>
      (await sql(service, "select from pg_stat_activity where query like '%pg_sleep(0.5)' and state = 'active'")).length
    while ((await running()) === 0);
    const from = Date.now()
    const end = await service.stop("SIGINT")
    assert.deepStrictEqual([end.code, end.signal], [0, null], end.output)
    assert.isBelow(Date.now() - from, 5_000)
    assert.strictEqual((await slow).status, 200)
  })

  it("survives kill -9, and rejects a second process on its directory, although keys can be created", async () => {
    const first = await startService({ dataDir })
    const second = await runToEnd({ SVC_DATA_DIR: dataDir })
    assert.notStrictEqual(second.code, 0)
    assert.match(second.output, new RegExp(`^svc: The data directory \\S+ is in use by process ${first.pid}: .*\n$`))

    await sql(first, "insert into kept values (2)")
    await first.stop("SIGKILL")
    const made = await runToEnd({ SVC_DATA_DIR: dataDir }, ["src/layers/programs/key.ts", "service_role"])
    assert.strictEqual(made.code, 0, made.output)
    const key = /svc_sk_\S+/.exec(made.output)?.[0] ?? ""

    const again = await startService({ dataDir })
    assert.deepStrictEqual(await sql({ ...again, service_role: key }, "select n from kept order by n"), [
      { n: 1 },
      { n: 2 }
    ])
    assert.strictEqual((await again.stop()).code, 0)
  })
})

describe("a reject start exits with one line", () => {
  const nowhere = "postgres://nobody:secret@127.0.0.1:1/none"
  const cases: ReadonlyArray<readonly [name: string, value: string, message: RegExp]> = [
    ["PORT", "http", /a whole number from 0 to 65535/],
    ["SVC_DB_POOL_SIZE", "0", /a whole number from 1 to 1000/],
    ["SVC_DB_TIMEOUT", "8", /a duration such as 500ms, 8s, 5m or 2h/],
    ["SVC_SQL_TIMEOUT", "soon", /a duration/],
    ["SVC_DB_MAX_ROWS", "-1", /a whole number/],
    ["SVC_DB_DEFAULT_RETURN", "rows", /representation, minimal/],
    ["SVC_DB_AGGREGATES", "yes", /true or false/],
    ["SVC_DB_PLAN_ENABLED", "yes", /true or false/],
    ["SVC_DB_TX_END", "undo", /one of commit, commit-allow-override, rollback, rollback-allow-override/],
    ["SVC_DB_SCHEMAS", "public,svc", /system schema svc/],
    ["SVC_JWT_SECRET", "short", /at least 32 bytes/],
    ["SVC_JWKS_URL", "keys", /absolute/],
    ["SVC_JWT_INSECURE_DECODE", "yes", /true or false/],
    ["SVC_REALTIME_PUBLIC", "open", /true or false/],
    ["SVC_REALTIME_MAX_CLIENTS", "0", /a whole number from 1 to 1000000/],
    ["WEBHOOK_TIMEOUT", "0s", /from 100ms to 5m/],
    ["WEBHOOK_RETRY_SCHEDULE", "5s,,5m", /durations such as/],
    ["WEBHOOK_DISABLE_AFTER", "0", /a whole number from 1/],
    ["WEBHOOK_CONCURRENCY", "1001", /a whole number from 1 to 1000/],
    ["WEBHOOK_ALLOW_PRIVATE", "1", /true or false/],
    ["FLAGS_HOST", "http://flagd", /a host name or an address/],
    ["FLAGS_PORT", "grpc", /a whole number from 0 to 65535/],
    ["FLAGS_ENVIRONMENT", "test", /dev, staging, production/],
    ["FLAGS_CORS_ORIGINS", "app.example.com", /origins such as/],
    ["SVC_FLAGS_HASHING", "v4", /v2, v3/],
    ["SVC_FLAGS_FALLBACK", "1", /true or false/],
    ["MIGRATIONS_TOOL", "knex", /one of auto, drizzle, prisma, own/],
    ["MIGRATIONS_TIMEOUT", "soon", /a duration such as/],
    ["SVC_ENCRYPTION_KEY", "short", /32 bytes/],
    ["SVC_ENCRYPTION_KEYS_OLD", "short", /32 bytes/],
    ["SVC_CONNECTIONS_ALLOW_PRIVATE", "1", /true or false/],
    ["SVC_BRANCH_TIMEOUT", "soon", /a duration/],
    ["SVC_BRANCH_END_SESSIONS", "1", /true or false/],
    ["SVC_BRANCH_POOL_SIZE", "0", /a whole number from 1 to 1000/],
    ["SVC_BRANCH_STRATEGY", "clone", /one of copy, dump, auto/],
    ["SVC_BACKUP_CRON", "0 3 * *", /a cron expression of five fields/],
    ["SVC_BACKUP_CRON", "0 3 31 2 *", /a cron expression of five fields/],
    ["SVC_BACKUP_KEEP", "-1", /a whole number from 0 to 10000/],
    ["SVC_BACKUP_TIMEOUT", "soon", /a duration/],
    ["DASHBOARD_URL", "dashboard", /an absolute URL/],
    ["DASHBOARD_URL", "https://dashboard.example.com/?tab=1", /without user, query and fragment/],
    ["PUBLIC_URL", "api.example.com", /an absolute URL/],
    ["PUBLIC_URL", "https://me@api.example.com", /without user, query and fragment/],
    ["IDP_PUBLIC_URL", "idp", /an absolute URL/],
    ["IDP_PUBLIC_URL", "https://me:pw@id.example.com", /without user, query and fragment/],
    ["IDP_PUBLIC_URL", "https://id.example.com/#top", /without user, query and fragment/],
    ["IDP_ADMIN_URL", "ftp://id.example.com", /an http or https URL/],
    ["OAUTH2_PUBLIC_URL", "oauth2", /an absolute URL/],
    ["OAUTH2_ADMIN_URL", "http://127.0.0.1:4445/?a=1", /without user, query and fragment/],
    ["OAUTH2_ADMIN_TOKEN", "two words", /printable ASCII without spaces/],
    ["SVC_AUTH_REQUIRED", "1", /true or false/],
    ["LOG_LEVEL", "Loud", /one of All, Trace/],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector", /an absolute URL/],
    ["DATABASE_URL", "mysql://nobody:secret@h/db", /postgres:\/\/user:password@host/]
  ]
  it.concurrent.each(cases)("%s=%s", async (name, value, message) => {
    const end = await runToEnd({ DATABASE_URL: nowhere, [name]: value })
    assert.strictEqual(end.code, 1, end.output)
    const lines = end.output.trimEnd().split("\n")
    assert.strictEqual(lines.length, 1, end.output)
    assert.match(lines[0] ?? "", new RegExp(`^svc: ${name} `))
    assert.match(lines[0] ?? "", message)
    assert.notInclude(end.output, "secret")
  })

  it("requires the identity provider's public URL if its admin URL is set", async () => {
    const end = await runToEnd({ DATABASE_URL: nowhere, IDP_ADMIN_URL: "http://127.0.0.1:4434" })
    assert.strictEqual(end.code, 1)
    assert.strictEqual(end.output, "svc: IDP_PUBLIC_URL must be set, because IDP_ADMIN_URL is\n")
  })

  it("names a port that is in use", async () => {
    const other = createServer()
    const port = await new Promise<number>((listening) =>
      other.listen(0, "127.0.0.1", () => listening((other.address() as { port: number }).port))
    )
    const dataDir = await makeDataDir()
    try {
      const end = await runToEnd({ SVC_DATA_DIR: dataDir, PORT: String(port) })
      assert.strictEqual(end.code, 1, end.output)
      assert.match(end.output, new RegExp(`^svc: .*127\\.0\\.0\\.1:${port}.*PORT`, "m"))
      assert.notMatch(end.output, /\n {4}at /)
    } finally {
      other.close()
      await removeDataDir(dataDir)
    }
  })
})
