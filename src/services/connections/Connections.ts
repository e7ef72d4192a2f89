import { Context, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Connection,
  type ConnectionChange,
  type ConnectionCheck,
  type ConnectionId,
  type NewConnection
} from "../../domain/connections/Connection.ts"
import { type ConnectionUrl, readConnectionUrl } from "../../domain/connections/Url.ts"
import { Conflict, NotFound, Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { seal, unseal } from "../../domain/connections/SealedText.ts"
import { ConnectionProbe } from "../ports/ConnectionProbe.ts"
import { EncryptionKeys } from "../ports/EncryptionKeys.ts"
import { onOwnTables } from "../OwnTables.ts"

interface Row {
  readonly id: number
  readonly name: string
  readonly sealed_url: string
  readonly created_at: string
  readonly updated_at: string
}

/** A connection string that was read, or why it can't be. */
type Opened = Result.Result<{ readonly text: string; readonly url: ConnectionUrl; readonly keyId: string }, string>

const columns = `id::float8 as id, name, sealed_url, ${isoSql("created_at")} as created_at,
  ${isoSql("updated_at")} as updated_at`

/** What a string is encrypted for: in another row it is no good. */
const placeOf = (id: number) => `svc.connections:${id}`

const notThere = (id: number) => new NotFound({ error: `No connection ${id}`, code: "CONNECTION_NOT_FOUND" })

const nameTaken = new Conflict({ error: "There is a connection of this name", code: "CONNECTION_EXISTS" })

const notConfigured = new Unavailable({
  error: "Connections can't be saved: no encryption key is configured (SVC_ENCRYPTION_KEY)",
  code: "NOT_CONFIGURED",
  hint: "Set SVC_ENCRYPTION_KEY to 32 random bytes: openssl rand -base64 32"
})

/** Names are the only values that must be unique. */
const refusals = { "23505": () => nameTaken }

/** Connection strings of other databases, kept encrypted (spec: Saved connection). */
export class Connections extends Context.Service<
  Connections,
  {
    /** By name. One that can't be decrypted is in it, and says so. */
    readonly list: Effect.Effect<ReadonlyArray<Connection>, Unavailable>
    readonly find: (id: ConnectionId) => Effect.Effect<Connection, NotFound | Unavailable>
    readonly create: (given: NewConnection) => Effect.Effect<Connection, Conflict | Unavailable>
    /** Also encrypts with the current key what was encrypted with an old one. */
    readonly update: (
      id: ConnectionId,
      change: ConnectionChange
    ) => Effect.Effect<Connection, NotFound | Conflict | Unavailable>
    readonly remove: (id: ConnectionId) => Effect.Effect<void, NotFound | Unavailable>
    /** Tries it out; the answer holds no password. */
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

      const open = ({ id, sealed_url }: Row): Opened => {
        const unsealed = unseal(keys, sealed_url, placeOf(id))
        if ("problem" in unsealed) {
          return Result.fail(
            unsealed.problem === "unknown key"
              ? `Encrypted with key ${unsealed.keyId}, which is neither SVC_ENCRYPTION_KEY nor in SVC_ENCRYPTION_KEYS_OLD`
              : "The encrypted connection string is damaged, or was made for another row"
          )
        }
        return Result.map(readConnectionUrl(unsealed.text), (url) => ({ ...unsealed, url }))
      }

      const shown = (row: Row): Connection => {
        const { created_at, id, name, updated_at } = row
        const opened = open(row)
        const [url, error] = Result.isSuccess(opened) ? [opened.success.url, null] : [undefined, opened.failure]
        return {
          id: id as ConnectionId,
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
          sql.unsafe<Row>(`select ${columns} from svc.connections where id = $1::int8 ${lock}`, [String(id)])
        )
        return row ?? (yield* notThere(id))
      })

      const list = Effect.gen(function* () {
        yield* key
        const rows = yield* onOwnTables(
          sql.unsafe<Row>(`select ${columns} from svc.connections order by lower(name), id`)
        )
        return rows.map(shown)
      })

      const create = Effect.fn("Connections.create")(function* (given: NewConnection) {
        const sealing = yield* key
        // The number comes first: the text is encrypted for it.
        const [next] = yield* onOwnTables(
          sql.unsafe<{ id: number }>("select nextval('svc.connections_id_seq')::float8 as id")
        )
        const id = next?.id ?? 0
        const inserted = sql.unsafe<Row>(
          `insert into svc.connections (id, name, sealed_url) values ($1::int8, $2, $3) returning ${columns}`,
          [String(id), given.name, seal(sealing, given.connection_url, placeOf(id))]
        )
        const [row] = yield* onOwnTables(inserted, refusals)
        return shown(row as Row)
      })

      const change = Effect.fnUntraced(function* (id: ConnectionId, change: ConnectionChange) {
        const sealing = yield* key
        const before = yield* rowOf(id, "for update")
        const opened = open(before)
        const text = change.connection_url ?? (Result.isSuccess(opened) ? opened.success.text : undefined)
        const stays =
          change.connection_url === undefined && (Result.isFailure(opened) || opened.success.keyId === sealing.id)
        const sealed = stays || text === undefined ? before.sealed_url : seal(sealing, text, placeOf(before.id))
        const [row] = yield* sql.unsafe<Row>(
          `update svc.connections set name = $2, sealed_url = $3,
             updated_at = case when $4::bool then now() else updated_at end
           where id = $1::int8 returning ${columns}`,
          [String(id), change.name ?? before.name, sealed, Object.keys(change).length > 0]
        )
        return shown(row as Row)
      })

      const update = Effect.fn("Connections.update")((id: ConnectionId, given: ConnectionChange) =>
        onOwnTables(sql.withTransaction(change(id, given)), refusals)
      )

      const remove = Effect.fn("Connections.remove")(function* (id: ConnectionId) {
        yield* key
        const gone = yield* onOwnTables(
          sql.unsafe("delete from svc.connections where id = $1::int8 returning id", [String(id)])
        )
        if (gone.length === 0) return yield* notThere(id)
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
