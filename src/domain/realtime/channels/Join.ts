import { Schema } from "effect"

const Text = Schema.String.check(Schema.isMaxLength(4096))
const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A channel's request for changes of a table; its values return to the client exactly as they came. */
export const ChangesRequest = Schema.Struct({
  event: Schema.Literals(["*", "INSERT", "UPDATE", "DELETE"]),
  schema: Schema.optionalKey(Text),
  table: nullable(Text),
  filter: nullable(Text),
  select: nullable(Schema.Union([Schema.Array(Text).check(Schema.isMaxLength(1600)), Text]))
})
export type ChangesRequest = typeof ChangesRequest.Type

/** Maximum number of such requests in one channel. */
const maxChanges = 100

/** The payload of `phx_join`. Unknown members are ignored: newer clients send more. */
const JoinRequest = Schema.Struct({
  access_token: nullable(Schema.String),
  config: Schema.optionalKey(
    Schema.Struct({
      broadcast: nullable(
        Schema.Struct({
          ack: nullable(Schema.Boolean),
          self: nullable(Schema.Boolean),
          replay: nullable(Schema.Struct({ since: nullable(Schema.Finite), limit: nullable(Schema.Finite) }))
        })
      ),
      presence: nullable(Schema.Struct({ key: nullable(Text), enabled: nullable(Schema.Boolean) })),
      postgres_changes: nullable(Schema.Array(ChangesRequest).check(Schema.isMaxLength(maxChanges))),
      private: nullable(Schema.Boolean)
    })
  )
})
export type JoinRequest = typeof JoinRequest.Type

export const decodeJoin = Schema.decodeUnknownOption(JoinRequest)

/** The prefix of topics that are channels. */
const prefix = "realtime:"

/** The name of a channel by its topic; undefined for other topics. */
export const channelName = (topic: string) => (topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined)
export const topicOf = (name: string) => `${prefix}${name}`
