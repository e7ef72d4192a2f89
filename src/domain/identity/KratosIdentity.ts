import { Schema, Stream } from "effect"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"

const Address = { value: Schema.String, via: Schema.Literal("email") }
const State = Schema.Literals(["active", "inactive"])

/**
 * An identity as Ory Kratos imports it (`kratos import identities`, `PATCH /admin/identities`). Kratos gives new ids;
 * `external_id` is the id that the identity had.
 */
export const KratosIdentity = Schema.Struct({
  schema_id: Schema.optionalKey(Schema.String),
  external_id: Schema.optionalKey(Schema.String),
  state: Schema.optionalKey(State),
  traits: JsonObjectSchema,
  metadata_public: Schema.optionalKey(Schema.NullOr(JsonObjectSchema)),
  verifiable_addresses: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({ ...Address, verified: Schema.Boolean, status: Schema.Literals(["pending", "sent", "completed"]) })
    )
  ),
  recovery_addresses: Schema.optionalKey(Schema.Array(Schema.Struct(Address))),
  credentials: Schema.optionalKey(
    Schema.Struct({
      password: Schema.optionalKey(Schema.Struct({ config: Schema.Struct({ hashed_password: Schema.String }) }))
    })
  )
}).annotate({ identifier: "KratosIdentity" })
export type KratosIdentity = typeof KratosIdentity.Type

/** An account in an export. */
export interface ExportedAccount {
  readonly id: string
  readonly state: typeof State.Type
  readonly schema_id: string
  readonly traits: JsonObjectSchema
  readonly metadata_public: JsonObjectSchema
  readonly addresses: ReadonlyArray<{ readonly value: string; readonly verified: boolean }>
  readonly passwordHash: string | null
}

/** Second factors and passkeys are left out: Kratos imports none. */
const kratosIdentityOf = ({ addresses, id, passwordHash, ...same }: ExportedAccount): KratosIdentity => ({
  ...same,
  external_id: id,
  verifiable_addresses: addresses.map(({ value, verified }) => ({
    value,
    via: "email",
    verified,
    status: verified ? "completed" : "pending"
  })),
  recovery_addresses: addresses.map(({ value }) => ({ value, via: "email" })),
  ...(passwordHash === null ? {} : { credentials: { password: { config: { hashed_password: passwordHash } } } })
})

/** A JSON array with a line for each account. */
export const exportText = <E>(accounts: Stream.Stream<ExportedAccount, E>): Stream.Stream<string, E> =>
  accounts.pipe(
    Stream.map((account) => JSON.stringify(kratosIdentityOf(account))),
    Stream.intersperseAffixes({ start: "[\n", middle: ",\n", end: "\n]\n" })
  )
