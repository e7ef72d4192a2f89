import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { settingFaults } from "../../../src/layers/check/Settings.ts"

const example = readFileSync(join(resolve(import.meta.dirname, "../../.."), ".env.example"), "utf8")
const documented = Array.from(example.matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm), ([, name = ""]) => name)

/** Only commands read them, or compose does. */
const elsewhere = ["SVC_ARCHIVE_PASSPHRASE", "SVC_RECOVERY_KEY", "SVC_SERVICE_KEY", "POSTGRES_PASSWORD"]
/** Settings of a provider, which SVC_SIGN_IN_WITH has to name. */
const ofProviders = documented.filter((name) => /^SVC_SIGN_IN_(?!WITH)/.test(name))
/** Names, directories and credentials of other programs, which know what is valid. */
const anyText = [
  "HOST",
  "SVC_DATA_DIR",
  "SVC_SERVICE_ROLE",
  "SVC_WEBAUTHN_RP_ID",
  "MIGRATIONS_DIR",
  "SVC_BACKUP_DIR",
  "PG_BIN_DIR",
  "PG_BIN_DIR_OLD",
  "SVC_BACKUP_BUCKET",
  "SVC_PITR_DIR",
  "SVC_FUNCTIONS_DIR",
  "SVC_FUNCTIONS_DENO",
  "SVC_PITR_BUCKET",
  "S3_ACCESS_KEY",
  "S3_SECRET_KEY",
  "S3_REGION",
  "SVC_OPERATIONS_HOST"
]

const faultsOf = (env: Readonly<Record<string, string>>) =>
  settingFaults.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))))

const subjects = (faults: ReadonlyArray<string>) => faults.map((fault) => /^[A-Z][A-Z0-9_]+/.exec(fault)?.[0] ?? fault)

it.live("finds nothing without settings, and reads every documented one", () =>
  Effect.gen(function* () {
    const read = new Set<string>()
    const recorded = (env: Readonly<Record<string, string>>) => {
      const given = ConfigProvider.fromEnvRecord(env)
      return settingFaults.pipe(
        Effect.provide(
          ConfigProvider.layer(ConfigProvider.make((path) => (read.add(String(path[0])), given.load(path))))
        )
      )
    }
    assert.deepStrictEqual(yield* recorded({}), [])
    assert.deepStrictEqual(yield* recorded({ S3_ENDPOINT: "http://s3", S3_ACCESS_KEY: "a", S3_SECRET_KEY: "b" }), [])
    const unread = documented.filter((name) => !read.has(name))
    assert.sameMembers(unread, [...elsewhere, ...ofProviders])
  })
)

it.live("names every documented setting with an invalid value in one run", () =>
  Effect.gen(function* () {
    const wrong = documented.filter((name) => ![...anyText, ...elsewhere, ...ofProviders].includes(name))
    assert.isAbove(wrong.length, 110)
    const faults = yield* faultsOf(Object.fromEntries(wrong.map((name) => [name, "\u0001 invalid,,"])))
    assert.sameMembers(subjects(faults), wrong)
  })
)

it.live("names a setting once, and not those that only lack an invalid one", () =>
  Effect.gen(function* () {
    const key = "k".repeat(40)
    assert.deepStrictEqual(
      subjects(yield* faultsOf({ SVC_JWT_SECRET: "short", SVC_JWT_SECRETS_OLD: key, DATABASE_URL: "postgres://h/db" })),
      ["SVC_JWT_SECRET"]
    )
    assert.deepStrictEqual(subjects(yield* faultsOf({ IDP_PUBLIC_URL: "id", IDP_ADMIN_URL: "http://id:4434" })), [
      "IDP_PUBLIC_URL"
    ])
    assert.deepStrictEqual(subjects(yield* faultsOf({ IDP_ADMIN_URL: "http://id:4434", PUBLIC_URL: "x" })), [
      "IDP_PUBLIC_URL",
      "PUBLIC_URL"
    ])
  })
)

it.live("repeats no secret", () =>
  Effect.gen(function* () {
    const faults = yield* faultsOf({
      DATABASE_URL: "mysql://me:hunter2@h/db",
      DATABASE_DIRECT_URL: "hunter2",
      SMTP_URL: "http://me:hunter2@h",
      SVC_JWT_SECRET: "hunter2",
      SVC_ENCRYPTION_KEY: "hunter2",
      SVC_OPERATIONS_KEY: "hunter2"
    })
    assert.lengthOf(faults, 6)
    assert.notInclude(faults.join("\n"), "hunter2")
  })
)
