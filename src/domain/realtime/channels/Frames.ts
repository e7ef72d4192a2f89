import { Schema, SchemaTransformation } from "effect"
import { InvalidRequest } from "../../errors.ts"
import { isJsonObject } from "../../text/JsonObject.ts"
import { bodyBounds, jsonExcess } from "../../text/JsonShape.ts"

/** The version of Phoenix's protocol that a client uses. */
export type Version = 1 | 2

/** The payload of a broadcast: JSON text, or bytes, which only clients of version 2 can receive. */
export type FrameBody = string | Uint8Array

/** A message of a client to its other members of a channel. */
export interface Broadcast {
  readonly event: string
  readonly body: FrameBody
  /** JSON text about the message, for those that the database has kept. */
  readonly meta?: string | undefined
}

/** A message of a client. */
export interface Incoming {
  readonly joinRef: string | null
  readonly ref: string | null
  readonly topic: string
  readonly event: string
  /** An object; `broadcast` is set in its place for broadcasts of either form. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly broadcast?: Broadcast | undefined
}

/** The longest name of a topic or an event, in characters. */
const maxName = 1000

const refOf = (value: unknown): string | null | undefined => {
  if (value === null || value === undefined) return null
  if (typeof value === "number") return String(value)
  return typeof value === "string" && value.length <= maxName ? value : undefined
}

const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length <= maxName && value.isWellFormed() && !value.includes("\0")

/** The broadcast in a payload of JSON; undefined if the payload is not a broadcast. */
const broadcastOf = (event: string, payload: Readonly<Record<string, unknown>>): Broadcast | undefined =>
  event === "broadcast" && isName(payload["event"])
    ? { event: payload["event"], body: JSON.stringify(payload["payload"] ?? {}) }
    : undefined

/** Throws InvalidRequest for JSON over the bounds. */
const parseJson = (text: string, bytes: Uint8Array = Buffer.from(text)): unknown => {
  const excess = jsonExcess(bytes, bodyBounds)
  if (excess !== undefined) throw excess
  return JSON.parse(text)
}

const decodeText = (version: Version, text: string): Incoming | undefined => {
  const parsed = parseJson(text)
  const fields = isJsonObject(parsed)
    ? [parsed["join_ref"], parsed["ref"], parsed["topic"], parsed["event"], parsed["payload"]]
    : parsed
  if (!Array.isArray(fields) || isJsonObject(parsed) !== (version === 1)) return undefined
  const [joinRef, ref] = [refOf(fields[0]), refOf(fields[1])]
  const [topic, event, given] = fields.slice(2) as ReadonlyArray<unknown>
  if (joinRef === undefined || ref === undefined || !isName(topic) || !isName(event)) return undefined
  const payload = isJsonObject(given) ? given : {}
  return { joinRef, ref, topic, event, payload, broadcast: broadcastOf(event, payload) }
}

/** Kinds of binary frames: a broadcast of a client, and one for a client. */
const [pushed, sent] = [3, 4]
const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The texts whose lengths the bytes of the header are, and the rest. */
const partsOf = (bytes: Uint8Array, lengths: ReadonlyArray<number>, start: number) => {
  let at = start
  const texts = lengths.map((length) => utf8.decode(bytes.subarray(at, (at += length))))
  return at > bytes.length ? undefined : { texts, rest: bytes.subarray(at) }
}

const decodeBytes = (bytes: Uint8Array): Incoming | undefined => {
  if (bytes.length < 7 || bytes[0] !== pushed) return undefined
  const parts = partsOf(bytes, [...bytes.subarray(1, 6)], 7)
  if (parts === undefined) return undefined
  const [joinRef = "", ref = "", topic = "", event = "", meta = ""] = parts.texts
  if (!isName(topic) || !isName(event)) return undefined
  const body =
    bytes[6] === 1 ? JSON.stringify(parseJson(utf8.decode(parts.rest), parts.rest)) : Uint8Array.from(parts.rest)
  const payload = meta === "" ? {} : (JSON.parse(meta) as Record<string, unknown>)
  return { joinRef: joinRef || null, ref: ref || null, topic, event: "broadcast", payload, broadcast: { event, body } }
}

/** Undefined for a text that is no message of the version; an error for JSON over the bounds. */
export const decodeFrame = (version: Version, frame: string | Uint8Array): Incoming | InvalidRequest | undefined => {
  try {
    if (typeof frame === "string") return decodeText(version, frame)
    return version === 2 ? decodeBytes(frame) : undefined
  } catch (error) {
    return error instanceof InvalidRequest ? error : undefined
  }
}

/** A message of the server. `payload` is JSON text. */
export interface OutgoingFrame {
  readonly joinRef?: string | null
  readonly ref?: string | null
  readonly topic: string
  readonly event: string
  readonly payload: string
}

export const encodeFrame = (version: Version, { event, joinRef = null, payload, ref = null, topic }: OutgoingFrame) => {
  const [j, r, t, e] = [joinRef, ref, topic, event].map((value) => JSON.stringify(value))
  return version === 1
    ? `{"topic":${t},"event":${e},"payload":${payload},"ref":${r},"join_ref":${j}}`
    : `[${j},${r},${t},${e},${payload}]`
}

/** The frame of a broadcast; undefined if the version has none for it. */
export const encodeBroadcast = (
  version: Version,
  topic: string,
  { body, event, meta }: Broadcast
): string | Uint8Array | undefined => {
  if (typeof body === "string") {
    const extra = meta === undefined ? "" : `,"meta":${meta}`
    const payload = `{"type":"broadcast","event":${JSON.stringify(event)},"payload":${body}${extra}}`
    return encodeFrame(version, { topic, event: "broadcast", payload })
  }
  const texts = [topic, event, meta ?? ""].map((text) => Buffer.from(text, "utf8"))
  // The lengths are single bytes.
  if (version === 1 || texts.some(({ length }) => length > 255)) return undefined
  return Buffer.concat([Buffer.from([sent, ...texts.map(({ length }) => length), 0]), ...texts, body])
}

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

/** Some clients send the texts `true` and `false`. */
const FlexibleBoolean = Schema.Union([
  Schema.Boolean,
  Schema.Literals(["true", "True", "TRUE", "false", "False", "FALSE"]).pipe(
    Schema.decodeTo(
      Schema.Boolean,
      SchemaTransformation.transform({
        decode: (text) => text.toLowerCase() === "true",
        encode: (value): "true" | "false" => (value ? "true" : "false")
      })
    )
  )
])

/** The payload of `phx_join`. Unknown members are ignored: newer clients send more. */
const JoinRequest = Schema.Struct({
  access_token: nullable(Schema.String),
  config: Schema.optionalKey(
    Schema.Struct({
      broadcast: nullable(
        Schema.Struct({
          ack: nullable(FlexibleBoolean),
          self: nullable(FlexibleBoolean),
          replication_ready: nullable(FlexibleBoolean),
          replay: nullable(Schema.Struct({ since: nullable(Schema.Finite), limit: nullable(Schema.Finite) }))
        })
      ),
      presence: nullable(Schema.Struct({ key: nullable(Text), enabled: nullable(FlexibleBoolean) })),
      postgres_changes: nullable(Schema.Array(ChangesRequest).check(Schema.isMaxLength(maxChanges))),
      private: nullable(FlexibleBoolean)
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
