import { Effect, Schema } from "effect"
import { type SqlClient } from "effect/sql"
import { statusOf } from "../../../domain/sql/States.ts"
import { DatabaseError, Unavailable } from "../../../domain/errors.ts"

/** What could be a shard's id behind a name. */
const shardId = /_(\d{6,})(?![\p{L}\p{N}_$])/gu

/** The shards of these ids, with the name of the table. Citus shortens the name of a shard whose table's is long. */
const shardsSql = `select s.shardid::text as id, c.relname::text as "table",
    p.parts[cardinality(p.parts)] as shard
  from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid,
    lateral (select parse_ident(shard_name(s.logicalrelid, s.shardid)) as parts) p
  where s.shardid::text = any(string_to_array($1, ','))`

interface Shard {
  readonly id: string
  readonly shard: string
  readonly table: string
}

/** A text with the names of tables instead of their shards', and those of constraints and indexes without a shard's id. */
const named = (text: string, shards: ReadonlyArray<Shard>) =>
  shards
    .reduce((renamed, { shard, table }) => renamed.replaceAll(shard, table), text)
    .replaceAll(shardId, (suffix, id) => (shards.some((one) => one.id === id) ? "" : suffix))

const idsIn = (texts: ReadonlyArray<string | null>) =>
  new Set(texts.flatMap((text) => Array.from(text?.matchAll(shardId) ?? [], ([, id = ""]) => id)))

/**
 * Citus' messages about a node that it can't reach, which name its address and the role. Class 08 alone may be about a
 * foreign server.
 */
const isOfNode = ({ error }: DatabaseError) =>
  /^(connection (not open|to the remote node|establishment for node|to \S+:\d+ failed)|cannot connect to \S+:\d+ to fetch|failed to read result "[^"]*" from node|failure on connection marked as essential|failed to prepare transaction '[^']*' on host)/.test(
    error
  )

const nodeUnavailable = () =>
  new Unavailable({
    error: "A node of the database's cluster does not answer, or does not admit the role of this request",
    code: "NODE_UNAVAILABLE",
    hint: "The service's log has the node and the reason"
  })

/** Errors of rows that a COPY to a worker meets: Citus reports them all as XX000, with the message of the worker. */
const states: ReadonlyArray<readonly [RegExp, DatabaseError["code"]]> = [
  [/^duplicate key value violates unique constraint/, "23505"],
  [/^(insert or update|update or delete) on table "[^"]*" violates foreign key constraint/, "23503"],
  [/^new row for relation "[^"]*" violates check constraint/, "23514"],
  [/^null value in column "[^"]*" of relation "[^"]*" violates not-null constraint/, "23502"],
  [/^conflicting key value violates exclusion constraint/, "23P01"],
  [/^new row violates row-level security policy/, "42501"]
]

const withState = (failure: DatabaseError) => {
  const [, code] = (failure.code === "XX000" && states.find(([message]) => message.test(failure.error))) || []
  return code === undefined
    ? failure
    : new DatabaseError({ ...failure, error: failure.error, code, status: statusOf(code, failure.error, false) })
}

const textOf = Schema.decodeUnknownOption(Schema.String)

/** Turns errors of a Citus cluster into those of the tables that callers know. */
export const inUsersNames =
  (sql: SqlClient.SqlClient) =>
  (found: DatabaseError | Unavailable): Effect.Effect<never, DatabaseError | Unavailable> => {
    if (found._tag !== "DatabaseError") return Effect.fail(found)
    const failure = withState(found)
    if (isOfNode(failure)) {
      return Effect.andThen(
        Effect.logWarning(`A node of the Citus cluster failed: ${failure.error}`),
        Effect.fail(nodeUnavailable())
      )
    }
    const details = textOf(failure.details)
    const detail = details._tag === "Some" ? details.value : null
    const ids = idsIn([failure.error, detail, failure.hint])
    if (ids.size === 0) return Effect.fail(failure)
    return sql.unsafe<Shard & object>(shardsSql, [[...ids].join(",")]).pipe(
      Effect.orElseSucceed((): ReadonlyArray<Shard> => []),
      Effect.flatMap((shards) =>
        Effect.fail(
          new DatabaseError({
            ...failure,
            code: failure.code,
            status: failure.status,
            error: named(failure.error, shards),
            details: detail === null ? failure.details : named(detail, shards),
            hint: failure.hint === null ? null : named(failure.hint, shards)
          })
        )
      )
    )
  }
