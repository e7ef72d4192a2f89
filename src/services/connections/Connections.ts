import { Context, Effect, Layer, Result, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { shownReplaced } from "../../domain/audit/Shown.ts"
import {
  type Connection,
  type ConnectionChange,
  type ConnectionCheck,
  ConnectionId,
  type NewConnection
} from "../../domain/connections/Connection.ts"
import { type ConnectionUrl, readConnectionUrl } from "../../domain/connections/Url.ts"
import { Conflict, NotFound, Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { seal, unseal } from "../../domain/connections/SealedText.ts"
import { ConnectionProbe } from "../ports/ConnectionProbe.ts"
import { EncryptionKeys } from "../ports/EncryptionKeys.ts"
import { audited, recordChange } from "../audit/Change.ts"
import { onOwnTables } from "../OwnTables.ts"

const Row = Schema.Struct({
  id: ConnectionId,
  name: Schema.String,
  sealed_url: Schema.String,
  created_at: Schema.String,
  updated_at: Schema.String
})
type Row = typeof Row.Type

/** A decrypted and parsed connection string, or why that failed. */
type Opened = Result.Result<{ readonly text: string; readonly url: ConnectionUrl; readonly keyId: string }, string>

const columns = `id::float8 as id, name, sealed_url, ${isoSql("created_at")} as created_at,
  ${isoSql("updated_at")} as updated_at`

/** Binds the encrypted string to its row. */
const placeOf = (id: number) => `svc.connections:${id}`

const notFound = (id: number) =>
  new NotFound({ error: `Connection ${id} does not exist`, code: "CONNECTION_NOT_FOUND" })

const nameTaken = new Conflict({ error: "A connection with this name already exists", code: "CONNECTION_EXISTS" })

const notConfigured = new Unavailable({
  error: "Connections can't be saved: no encryption key is configured (SVC_ENCRYPTION_KEY)",
  code: "NOT_CONFIGURED",
  hint: "Set SVC_ENCRYPTION_KEY to 32 random bytes: openssl rand -base64 32"
})

/** The name is the only unique column that clients set. */
const refusals = { "23505": () => nameTaken }

/** Connection strings of other databases, stored encrypted (spec: Saved connection). */
export class Connections extends Context.Service<
  Connections,
  {
    /** The connections by name, including those that can't be decrypted, with their `error`. */
    readonly list: Effect.Effect<ReadonlyArray<Connection>, Unavailable>
    readonly find: (id: ConnectionId) => Effect.Effect<Connection, NotFound | Unavailable>
    readonly create: (given: NewConnection) => Effect.Effect<Connection, Conflict | Unavailable>
    /** Updates a connection, and re-encrypts a string that was encrypted with an old key. */
    readonly update: (
      id: ConnectionId,
      change: ConnectionChange
    ) => Effect.Effect<Connection, NotFound | Conflict | Unavailable>
    readonly remove: (id: ConnectionId) => Effect.Effect<void, NotFound | Unavailable>
    /** Tests the connection; the result contains no password. */
    readonly test: (id: ConnectionId) => Effect.Effect<ConnectionCheck, NotFound | Unavailable>
  }
>()("svc/services/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { current, old } = yield* EncryptionKeys
      const probe = yield* ConnectionProbe

      const key = current === undefined ? Effect.fail(notConfigured) : Effect.succeed(current)
      const keys = current === undefined ? old : [current, ...old]

      const rows = (text: string, params: ReadonlyArray<unknown> = []) =>
        SqlSchema.findAll({ Request: Schema.Void, Result: Row, execute: () => sql.unsafe(text, params) })()

      const open = ({ id, sealed_url }: Row): Opened => {
        const unsealed = unseal(keys, sealed_url, placeOf(id))
        if ("problem" in unsealed) {
          return Result.fail(
            unsealed.problem === "unknown key"
              ? `Encrypted with key ${unsealed.keyId}, which is neither SVC_ENCRYPTION_KEY nor in SVC_ENCRYPTION_KEYS_OLD`
              : "The encrypted connection string is damaged, or belongs to another row"
          )
        }
        return Result.map(readConnectionUrl(unsealed.text), (url) => ({ ...unsealed, url }))
      }

      const shown = (row: Row): Connection => {
        const { created_at, id, name, updated_at } = row
        const opened = open(row)
        const [url, error] = Result.isSuccess(opened) ? [opened.success.url, null] : [undefined, opened.failure]
        return {
          id,
          name,
          type: url?.type ?? null,
          connection_url: url?.masked ?? null,
          error,
          old_key: Result.isSuccess(opened) && opened.success.keyId !== current?.id,
          created_at,
          updated_at
        }
      }

      const rowOf = Effect.fnUntraced(function* (id: ConnectionId, lock: "" | "for update" = "") {
        yield* key
        const [row] = yield* onOwnTables(
          rows(`select ${columns} from svc.connections where id = $1::int8 ${lock}`, [String(id)])
        )
        return row ?? (yield* notFound(id))
      })

      const list = Effect.gen(function* () {
        yield* key
        const all = yield* onOwnTables(rows(`select ${columns} from svc.connections order by lower(name), id`))
        return all.map(shown)
      })

      const create = Effect.fn("Connections.create")(function* (given: NewConnection) {
        const sealing = yield* key
        // The id comes first, because the string is encrypted for it.
        const [next] = yield* onOwnTables(
          sql.unsafe<{ id: number }>("select nextval('svc.connections_id_seq')::float8 as id")
        )
        const id = next?.id ?? 0
        const inserted = rows(
          `insert into svc.connections (id, name, sealed_url) values ($1::int8, $2, $3) returning ${columns}`,
          [String(id), given.name, seal(sealing, given.connection_url, placeOf(id))]
        )
        const recorded = audited(sql, inserted, () => ({ subject: `connection:${id}`, after: { name: given.name } }))
        const [row] = yield* onOwnTables(recorded, refusals)
        return shown(row as Row)
      })

      const change = Effect.fnUntraced(function* (id: ConnectionId, change: ConnectionChange) {
        const sealing = yield* key
        const before = yield* rowOf(id, "for update")
        const opened = open(before)
        const text = change.connection_url ?? (Result.isSuccess(opened) ? opened.success.text : undefined)
        const unchanged =
          change.connection_url === undefined && (Result.isFailure(opened) || opened.success.keyId === sealing.id)
        const sealed = unchanged || text === undefined ? before.sealed_url : seal(sealing, text, placeOf(before.id))
        const [row] = yield* rows(
          `update svc.connections set name = $2, sealed_url = $3,
             updated_at = case when $4::bool then now() else updated_at end
           where id = $1::int8 returning ${columns}`,
          [String(id), change.name ?? before.name, sealed, Object.keys(change).length > 0]
        )
        const after = { name: row?.name ?? "", ...shownReplaced(change, ["connection_url"]) }
        yield* recordChange(sql, { subject: `connection:${id}`, before: { name: before.name }, after })
        return shown(row as Row)
      })

      const update = Effect.fn("Connections.update")((id: ConnectionId, given: ConnectionChange) =>
        onOwnTables(sql.withTransaction(change(id, given)), refusals)
      )

      const remove = Effect.fn("Connections.remove")(function* (id: ConnectionId) {
        yield* key
        const deleted = yield* onOwnTables(
          audited(
            sql,
            sql.unsafe<{ readonly name: string }>("delete from svc.connections where id = $1::int8 returning name", [
              String(id)
            ]),
            ([gone]) => gone && { subject: `connection:${id}`, before: { name: gone.name } }
          )
        )
        if (deleted.length === 0) return yield* notFound(id)
        return undefined
      })

      const test = Effect.fn("Connections.test")(function* (id: ConnectionId) {
        const opened = open(yield* rowOf(id))
        if (Result.isSuccess(opened)) return yield* probe.check(opened.success.url)
        const error = opened.failure
        return { ok: false, checked: null, latency_ms: 0, error, code: null, server_version: null }
      })

      return Connections.of({
        list,
        find: (id) => Effect.map(rowOf(id), shown),
        create,
        update,
        remove,
        test
      })
    })
  )
}
