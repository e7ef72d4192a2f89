import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { type Conflict, type Unavailable } from "../../../domain/errors.ts"
import { type Identity } from "../../../domain/identity/Identity.ts"
import { accountRefused, refusedByApp } from "../../../domain/supabase/AuthErrors.ts"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { onOwnTables, type OwnTablesFailure, queryRows } from "../../OwnTables.ts"
import { noIdentity } from "./Refusals.ts"

/** The SHA-256 of a token with 256 random bits; what has fewer is signed (IdentitySignatures) instead. */
export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
export const isUuid = (text: string) => uuid.test(text)

/** SQL of a time as ISO 8601 in UTC. */
export const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const IdentityRow = Schema.Struct({
  id: Schema.String,
  state: Schema.Literals(["active", "inactive"]),
  schema_id: Schema.String,
  traits: JsonObjectSchema,
  metadata_public: JsonObjectSchema,
  addresses: Schema.Array(Schema.Struct({ value: Schema.String, verified: Schema.Boolean })),
  created_at: Schema.String,
  updated_at: Schema.String
})

const identityColumns = `i.id::text, i.state, i.schema_id, i.traits, i.metadata_public,
  ${iso("i.created_at")} as created_at, ${iso("i.updated_at")} as updated_at,
  coalesce((select json_agg(json_build_object('value', a.value, 'verified', a.verified_at is not null) order by a.lookup)
            from svc.identity_addresses a where a.identity_id = i.id), '[]') as addresses`

const ExportRow = Schema.Struct({ ...IdentityRow.fields, password_hash: Schema.NullOr(Schema.String) })

/** The columns that a change of an account needs. */
const LockedRow = Schema.Struct({
  id: Schema.String,
  state: Schema.Literals(["active", "inactive"]),
  password_hash: Schema.NullOr(Schema.String),
  totp_secret: Schema.NullOr(Schema.String),
  updated_at: Schema.String
})
export type Locked = typeof LockedRow.Type

/** The account of an address. */
const OwnerRow = Schema.Struct({
  id: Schema.String,
  value: Schema.String,
  verified: Schema.Boolean,
  active: Schema.Boolean,
  password_hash: Schema.NullOr(Schema.String)
})
export type Owner = typeof OwnerRow.Type

/** A page of rows of which one more than its size was read. */
export const pageOf = (rows: ReadonlyArray<Identity>, pageSize: number) => {
  const identities = rows.slice(0, pageSize)
  return { identities, next: rows.length > pageSize ? (identities.at(-1)?.id ?? null) : null }
}

/** Statements on the tables of accounts. */
export class AccountStore extends Context.Service<AccountStore>()("svc/identity/AccountStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows =
      <S extends Schema.Constraint>(Result: S) =>
      (text: string, params: ReadonlyArray<unknown> = []) =>
        onOwnTables(queryRows(sql, Result)(text, params))
    const identityRows = rows(IdentityRow)
    const exportRows = rows(ExportRow)
    const ownerRows = rows(OwnerRow)
    const lockedRows = rows(LockedRow)
    /** The number of rows that a statement with `returning 1` has changed. */
    const count = (text: string, params: ReadonlyArray<unknown> = []) =>
      Effect.map(onOwnTables(sql.unsafe(text, [...params])), ({ length }) => length)
    /** 409 for an account that triggers or foreign keys of the app refuse, on tables of schema auth (docs/supabase.md). */
    const atomically = <A, E, R>(
      effect: Effect.Effect<A, E, R>
    ): Effect.Effect<A, Exclude<E, OwnTablesFailure> | Unavailable | Conflict, R> =>
      onOwnTables(sql.withTransaction(effect), { [refusedByApp]: accountRefused })

    const identity = Effect.fnUntraced(function* (id: string) {
      const found = isUuid(id)
        ? yield* identityRows(`select ${identityColumns} from svc.identities i where id = $1::text::uuid`, [id])
        : []
      const [row] = found
      return row === undefined ? yield* noIdentity : (row satisfies Identity)
    })

    return {
      rows,
      count,
      atomically,
      identity,
      /** A page of identities by id, after one. */
      page: (limit: number, after: string | undefined) =>
        identityRows(
          `select ${identityColumns} from svc.identities i where $1::text is null or id > $1::text::uuid order by id limit $2::int4`,
          [after ?? null, limit]
        ),
      /** A page of identities with a part of an address, in lower case. Reads all addresses. */
      search: (part: string, limit: number, after: string | undefined) =>
        identityRows(
          `select ${identityColumns} from svc.identities i
         where id in (select identity_id from svc.identity_addresses
                      where strpos(lower(value), $1) > 0 and ($2::text is null or identity_id > $2::text::uuid))
         order by id limit $3::int4`,
          [part, after ?? null, limit]
        ),
      /** A page of identities with password hashes. */
      exportPage: (limit: number, after: string | undefined) =>
        exportRows(
          `select ${identityColumns}, password_hash from svc.identities i
         where $1::text is null or id > $1::text::uuid order by id limit $2::int4`,
          [after ?? null, limit]
        ),
      /** The account of an address, verified or not. */
      ownerOf: (lookup: string) =>
        Effect.map(
          ownerRows(
            `select i.id::text, a.value, a.verified_at is not null as verified, i.state = 'active' as active, i.password_hash
             from svc.identity_addresses a join svc.identities i on i.id = a.identity_id where a.lookup = $1`,
            [lookup]
          ),
          ([row]) => row
        ),
      byLookup: (lookup: string) =>
        identityRows(
          `select ${identityColumns} from svc.identities i
         where id = (select identity_id from svc.identity_addresses where lookup = $1)`,
          [lookup]
        ),
      /** Makes changes of one account follow one another. */
      exclusively: <A, E, R>(id: string, change: (row: Locked) => Effect.Effect<A, E, R>) =>
        atomically(
          Effect.gen(function* () {
            const [row] = yield* lockedRows(
              `select id::text, state, password_hash, totp_secret, ${iso("updated_at")} as updated_at from svc.identities where id = $1::text::uuid for update`,
              [id]
            )
            return row === undefined ? yield* noIdentity : yield* change(row)
          })
        )
    }
  })
}) {
  static readonly layer = Layer.effect(AccountStore, AccountStore.make)
}
