import { Console, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { firstKeysLock } from "../../domain/sql/AdvisoryLocks.ts"
import { hashOf, type KeyType, makeRawKey, prefixOf } from "../../domain/access/ApiKey.ts"
import { Db } from "../../services/ports/Db.ts"
import { DataDir } from "../process/DataDir.ts"
import { attempt } from "../process/StartError.ts"

/** Directory where the first keys are stored besides being printed; undefined with an external database. */
class KeysFile extends Context.Service<KeysFile, { readonly directory: string | undefined }>()("svc/layers/KeysFile") {}

export const layerKeysFile = Layer.effect(
  KeysFile,
  Effect.map(DataDir, ({ path }) => ({ directory: path }))
)
export const layerNoKeysFile = Layer.succeed(KeysFile, { directory: undefined })

/** Creates one key of each type if there has never been a key, and prints them once. */
export const layerFirstKeys = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    const { directory } = yield* KeysFile
    const created = yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${firstKeysLock}::text::bigint)`
        const some = yield* sql`select from svc.api_keys limit 1`
        if (some.length > 0) return undefined
        const make = (type: KeyType) => {
          const raw = makeRawKey(type)
          const row = { key_type: type, key_prefix: prefixOf(raw), key_hash: hashOf(raw), label: "first start" }
          return Effect.as(sql`insert into svc.api_keys ${sql.insert(row)}`, raw)
        }
        return { service_role: yield* make("service_role"), anon: yield* make("anon") }
      })
    )
    if (created === undefined) return
    if (directory !== undefined) {
      const file = join(directory, "keys.json")
      yield* attempt(`Failed to write ${file}`, async () => {
        await writeFile(file, `${JSON.stringify(created, null, 2)}\n`, { mode: 0o600 })
        await chmod(file, 0o600)
      })
    }
    yield* Console.log(
      [
        "",
        "  Two API keys were created. They are shown only once.",
        `    service_role  ${created.service_role}   (full access: for servers only)`,
        `    anon          ${created.anon}   (row-level security applies: for apps)`,
        directory === undefined ? "  Store them safely." : `  They are also stored in ${join(directory, "keys.json")}.`,
        ""
      ].join("\n")
    )
  })
)
