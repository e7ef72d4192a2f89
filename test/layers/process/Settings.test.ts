import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer } from "effect"
import { startFailure } from "../../../src/layers/process/StartError.ts"
import { Service } from "../../../src/main.ts"
import { testSettings } from "../../support/service.ts"

/** Settings with one fault each, and what the message says. */
const cases: ReadonlyArray<readonly [name: string, value: string, says: RegExp]> = [
  ["PORT", "http", /a whole number from 0 to 65535/],
  ["SVC_DB_POOL_SIZE", "0", /a whole number from 1 to 1000/],
  ["SVC_DB_TIMEOUT", "8", /a duration such as 500ms, 8s, 5m, 2h or 7d/],
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
  ["SVC_REALTIME_MAX_PER_CLIENT", "0", /a whole number from 1 to 1000000/],
  ["SVC_JWT_SECRETS_OLD", "short", /at least 32 bytes|requires SVC_JWT_SECRET/],
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
  ["SVC_OAUTH2_ALLOW_PRIVATE", "1", /true or false/],
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
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", /one of http\/json, http\/protobuf/],
  ["SVC_TRACE_SAMPLING", "10%", /a number from 0 to 1/],
  ["SVC_TRACE_SAMPLING", "1.5", /a number from 0 to 1/],
  ["SVC_OPERATIONS_PORT", "65536", /a whole number from 0 to 65535/],
  ["SVC_OPERATIONS_KEY", "short", /at least 16 characters/],
  ["DATABASE_URL", "mysql://nobody:secret@h/db", /postgres:\/\/user:password@host/],
  ["DATABASE_URL", "postgres://nobody:secret@h/db?sslcrl=x", /the parameter sslcrl, which is not supported/],
  ["DATABASE_URL", "postgres://nobody:secret@h/db?requiressl=1", /the parameter requiressl, which is not supported/],
  ["DATABASE_URL", "postgres://nobody:secret@h/db?sslmode=require&sslkey=x", /both sslcert and sslkey, or neither/],
  [
    "DATABASE_URL",
    "postgres://nobody:secret@h/db?sslrootcert=system",
    /certificates, which require sslmode=verify-full/
  ]
]

/** What a process would print before it exits. Nothing listens at the address of the database; all ports are free ones. */
const failureOf = (env: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const settings = { ...testSettings, DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/none", ...env }
    const exit = yield* Layer.build(Layer.fresh(Service)).pipe(
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(settings))),
      Effect.exit
    )
    return Exit.isFailure(exit) ? startFailure(exit.cause) : "started"
  })

describe("a start with an invalid setting fails with one line", () => {
  it.live.each(cases)("%s=%s", ([name, value, says]) =>
    Effect.gen(function* () {
      const line = yield* failureOf({ [name]: value })
      assert.notInclude(line, "\n")
      assert.match(line, new RegExp(`^svc: ${name} `))
      assert.match(line, says)
      assert.notInclude(line, "secret")
    })
  )
})
