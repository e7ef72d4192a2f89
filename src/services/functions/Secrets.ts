import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type EncryptionKey, seal, unseal } from "../../domain/connections/SealedText.ts"
import { NotFound, Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { Keys } from "../access/Keys.ts"
import { audited } from "../audit/Change.ts"
import { onOwnTables } from "../OwnTables.ts"
import { EncryptionKeys } from "../ports/EncryptionKeys.ts"
import { SupabaseSettings } from "../supabase/Settings.ts"
import { FunctionSettings } from "./Settings.ts"

export interface SecretRecord {
  readonly name: string
  readonly updated_at: string
}

const placeOf = (name: string) => `svc.function_secrets:${name}`

const notConfigured = new Unavailable({
  error: "Secrets can't be saved: no encryption key is configured (SVC_ENCRYPTION_KEY)",
  code: "NOT_CONFIGURED",
  hint: "Set SVC_ENCRYPTION_KEY to 32 random bytes: openssl rand -base64 32"
})

/** The API keys of functions, which no one else has: the service stores only hashes of other keys. */
const ownKeys = [
  ["SVC_ANON_KEY", "anon"],
  ["SVC_SERVICE_KEY", "service_role"]
] as const

/** Makes the versions of all replicas start again, with the new environment. */
const notify = "select pg_notify('svc_functions', '')"

/** Keys by name, as Supabase's newer functions read them. */
const byDefault = (key: string) => JSON.stringify({ default: key })

/** The environment of functions: secrets, encrypted in the database, and what the service adds. */
export class FunctionSecrets extends Context.Service<
  FunctionSecrets,
  {
    /** The names, in order; values are never returned. */
    readonly list: Effect.Effect<ReadonlyArray<SecretRecord>, Unavailable>
    readonly set: (secrets: Readonly<Record<string, string>>) => Effect.Effect<ReadonlyArray<SecretRecord>, Unavailable>
    readonly remove: (name: string) => Effect.Effect<void, NotFound | Unavailable>
    /** Grows with every change by this process. */
    readonly changes: () => number
    /** All variables of a function's environment. */
    readonly environment: (
      name: string,
      version: number
    ) => Effect.Effect<Readonly<Record<string, string>>, Unavailable>
  }
>()("svc/services/FunctionSecrets") {
  static readonly layer = Layer.effect(
    FunctionSecrets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let changes = 0
      const counted = Effect.ensuring(Effect.sync(() => void changes++))
      const keys = yield* Keys
      const { current, old } = yield* EncryptionKeys
      const { url } = yield* FunctionSettings
      const { enabled } = yield* SupabaseSettings
      const all = current === undefined ? old : [current, ...old]

      const records = sql.unsafe<SecretRecord>(
        `select name, ${isoSql("updated_at")} as updated_at from svc.function_secrets
         where name not like 'SVC\\_%' order by name`
      )
      const list = onOwnTables(records)

      const insert = (key: EncryptionKey, name: string, value: string, clause: string) =>
        sql.unsafe<{ name: string }>(
          `insert into svc.function_secrets (name, sealed_value) values ($1, $2) on conflict (name) do ${clause} returning name`,
          [name, seal(key, value, placeOf(name))]
        )

      const set = Effect.fn("FunctionSecrets.set")(function* (secrets: Readonly<Record<string, string>>) {
        if (current === undefined) return yield* notConfigured
        const names = Object.keys(secrets).toSorted()
        const written = Effect.gen(function* () {
          for (const name of names) {
            yield* insert(
              current,
              name,
              secrets[name] ?? "",
              "update set sealed_value = excluded.sealed_value, updated_at = now()"
            )
          }
          yield* sql.unsafe(notify)
          return yield* records
        })
        return yield* onOwnTables(
          audited(sql, written, () => ({ subject: "function secrets", after: { names } }))
        ).pipe(counted)
      })

      const remove = Effect.fn("FunctionSecrets.remove")(function* (name: string) {
        const removed = Effect.gen(function* () {
          const gone = yield* sql.unsafe<{ name: string }>(
            "delete from svc.function_secrets where name = $1 and name not like 'SVC\\_%' returning name",
            [name]
          )
          yield* sql.unsafe(notify)
          return gone
        })
        const gone = yield* onOwnTables(
          audited(sql, removed, ([first]) => first && { subject: "function secrets", before: { names: [name] } })
        ).pipe(counted)
        if (gone.length === 0)
          return yield* new NotFound({ error: `Secret ${name} does not exist`, code: "SECRET_NOT_FOUND" })
        return undefined
      })

      const values = Effect.gen(function* () {
        const rows = yield* onOwnTables(
          sql.unsafe<{ name: string; sealed_value: string }>("select name, sealed_value from svc.function_secrets")
        )
        const opened: Record<string, string> = {}
        for (const { name, sealed_value } of rows) {
          const unsealed = unseal(all, sealed_value, placeOf(name))
          if ("text" in unsealed) opened[name] = unsealed.text
          else yield* Effect.logWarning(`Functions run without ${name}, which can't be decrypted: set it again`)
        }
        return opened
      })

      /** Creates the keys of functions, once for all replicas. */
      const withKeys = Effect.gen(function* () {
        const known = yield* values
        for (const [name, type] of ownKeys) {
          if (known[name] !== undefined || current === undefined) continue
          const { key, secret } = yield* keys.create(type, `functions (${type})`, null)
          const mine = yield* onOwnTables(insert(current, name, secret, "nothing"))
          if (mine.length === 0) yield* Effect.ignore(keys.revoke(key.id))
        }
        return yield* values
      })

      const environment = Effect.fn("FunctionSecrets.environment")(function* (name: string, version: number) {
        const known = yield* values
        const opened = ownKeys.every(([key]) => known[key] !== undefined) ? known : yield* withKeys
        const [anon, service] = [opened["SVC_ANON_KEY"], opened["SVC_SERVICE_KEY"]]
        return {
          ...opened,
          SVC_URL: url,
          SVC_FUNCTION_NAME: name,
          SVC_FUNCTION_VERSION: String(version),
          ...(enabled && {
            SUPABASE_URL: url,
            SUPABASE_JWKS_URL: `${url}/auth/v1/.well-known/jwks.json`,
            ...(anon !== undefined && { SUPABASE_ANON_KEY: anon, SUPABASE_PUBLISHABLE_KEYS: byDefault(anon) }),
            ...(service !== undefined && {
              SUPABASE_SERVICE_ROLE_KEY: service,
              SUPABASE_SECRET_KEYS: byDefault(service)
            })
          })
        }
      })

      return FunctionSecrets.of({ changes: () => changes, list, set, remove, environment })
    })
  )
}
