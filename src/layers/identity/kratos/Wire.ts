import { Schema } from "effect"

/** The fields that are read of Kratos's responses; others are ignored. */

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const Some = Schema.Record(Schema.String, Schema.Unknown)

export const WireIdentity = Schema.Struct({
  id: Schema.String,
  state: nullable(Schema.String),
  schema_id: Schema.String,
  traits: nullable(Some),
  metadata_public: nullable(Some),
  verifiable_addresses: nullable(
    Schema.Array(Schema.Struct({ value: Schema.String, verified: Schema.Boolean, via: Schema.String }))
  ),
  created_at: nullable(Schema.String),
  updated_at: nullable(Schema.String)
})
export type WireIdentity = typeof WireIdentity.Type

const session = {
  id: Schema.String,
  authenticator_assurance_level: Schema.String,
  authenticated_at: Schema.String,
  issued_at: Schema.String,
  expires_at: Schema.String
}

export const WireSession = Schema.Struct({
  ...session,
  authentication_methods: nullable(Schema.Array(Schema.Struct({ method: Schema.String }))),
  identity: WireIdentity
})
export type WireSession = typeof WireSession.Type

export const WireSessionSummary = Schema.Struct({
  ...session,
  devices: nullable(
    Schema.Array(
      Schema.Struct({
        ip_address: nullable(Schema.String),
        user_agent: nullable(Schema.String),
        location: nullable(Schema.String)
      })
    )
  )
})
export type WireSessionSummary = typeof WireSessionSummary.Type

const Message = Schema.Struct({ id: Schema.Finite, text: Schema.String, type: Schema.String })

const Node = Schema.Struct({
  group: Schema.String,
  /** Inputs have a name and a value, texts an id and a text. */
  attributes: Schema.Struct({
    name: nullable(Schema.String),
    value: Schema.optionalKey(Schema.Unknown),
    disabled: nullable(Schema.Boolean),
    id: nullable(Schema.String),
    text: nullable(Schema.Struct({ text: Schema.String, context: nullable(Some) }))
  }),
  messages: nullable(Schema.Array(Message))
})
export type Node = typeof Node.Type

/** A flow and its form. `nodes` is null for a form without fields. */
export const WireFlow = Schema.Struct({
  id: Schema.String,
  expires_at: nullable(Schema.String),
  ui: Schema.Struct({ nodes: nullable(Schema.Array(Node)), messages: nullable(Schema.Array(Message)) })
})
export type WireFlow = typeof WireFlow.Type

/** A response that is not a success: an error, or the form with its errors. */
export const WireRefusal = Schema.Struct({
  error: nullable(
    Schema.Struct({ id: nullable(Schema.String), reason: nullable(Schema.String), message: nullable(Schema.String) })
  ),
  redirect_browser_to: nullable(Schema.String),
  ui: nullable(WireFlow.fields.ui)
})

/** An identity with the requested credentials. */
export const WireCredentials = Schema.Struct({
  id: Schema.String,
  credentials: nullable(
    Schema.Struct({
      totp: Schema.optionalKey(Schema.Unknown),
      webauthn: nullable(
        Schema.Struct({
          config: nullable(
            Schema.Struct({
              credentials: nullable(
                Schema.Array(
                  Schema.Struct({
                    /** Base64. */
                    id: Schema.String,
                    display_name: nullable(Schema.String),
                    added_at: nullable(Schema.String),
                    is_passwordless: nullable(Schema.Boolean)
                  })
                )
              )
            })
          )
        })
      ),
      lookup_secret: nullable(
        Schema.Struct({
          config: nullable(
            Schema.Struct({
              recovery_codes: nullable(Schema.Array(Schema.Struct({ used_at: nullable(Schema.String) })))
            })
          )
        })
      )
    })
  )
})
