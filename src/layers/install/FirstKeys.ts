import { Console, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { chmod, chown, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { firstKeysLock } from "../../domain/sql/AdvisoryLocks.ts"
import { keyHashOf, type KeyType, makeRawKey, prefixOf } from "../../domain/access/ApiKey.ts"
import { byService, insertAudit } from "../../services/audit/Change.ts"
import { Db } from "../../services/ports/Db.ts"
import { DataDir } from "../process/DataDir.ts"
import { attempt } from "../process/StartError.ts"

/**
 * Creates one key of each type if there has never been a key, and stores them in SVC_DATA_DIR. Prints them to a terminal
 * only: what goes elsewhere is a log, which must contain no secret.
 */
export const layerFirstKeys = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    const created = yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${firstKeysLock}::text::bigint)`
        const some = yield* sql`select from svc.api_keys limit 1`
        if (some.length > 0) return undefined
        const make = (type: KeyType) => {
          const raw = makeRawKey(type)
          const row = { key_type: type, key_prefix: prefixOf(raw), key_hash: keyHashOf(raw), label: "first start" }
          return Effect.gen(function* () {
            const [made] = yield* sql<{ readonly id: number }>`insert into svc.api_keys ${sql.insert(row)} returning id`
            const after = { key_type: type, label: row.label, rate_limit: null, revoked: false }
            yield* insertAudit(sql, { ...byService("first start", "key.create"), subject: `key:${made?.id}`, after })
            return raw
          })
        }
        const keys = { service_role: yield* make("service_role"), anon: yield* make("anon") }
        return { ...keys, file: yield* stored(keys) }
      })
    )
    if (created === undefined) return
    const { anon, file, service_role } = created
    if (!process.stdout.isTTY) return yield* Effect.logInfo(`Two API keys were created, and stored in ${file}`)
    yield* Console.log(
      [
        "",
        "  Two API keys were created.",
        `    service_role  ${service_role}   (full access: for servers only)`,
        `    anon          ${anon}   (row-level security applies: for apps)`,
        `  They are also stored in ${file}.`,
        ""
      ].join("\n")
    )
  }).pipe(
    // The service can do without: replicas of a read-only container have no place for a file.
    Effect.catchTag("StartError", ({ message }) =>
      Effect.logWarning(`No API key was created. ${message}. Create keys with: svc key service_role`)
    )
  )
)

/** Keeps a file of another database, whose keys may exist nowhere else. */
const stored = Effect.fnUntraced(function* (keys: Readonly<Record<KeyType, string>>) {
  const { owner, path } = yield* DataDir
  const file = join(path, "keys.json")
  yield* attempt(`Failed to write ${file}`, async () => {
    await rename(file, `${file}.old`).catch(() => undefined)
    await writeFile(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
    await chmod(file, 0o600)
    if (owner !== undefined) await chown(file, owner.uid, owner.gid)
  })
  return file
}, Effect.provide(DataDir.layer))
