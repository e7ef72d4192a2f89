import { Clock, Effect, Option } from "effect"
import { looksLikeKey } from "../../../domain/access/ApiKey.ts"
import { InvalidRequest } from "../../../domain/errors.ts"
import {
  type Incoming,
  type JoinRequest,
  channelName,
  decodeFrame,
  decodeJoin,
  encodeFrame
} from "../../../domain/realtime/channels/Frames.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { RateWindow } from "../../../domain/realtime/RateWindow.ts"
import { randomUUID } from "node:crypto"
import { logFailure } from "../../OwnTables.ts"
import { type Actor } from "../../ports/Db.ts"
import { type Authority, allRights, noReason } from "./Authority.ts"
import { type ChannelChanges } from "./changes/Changes.ts"
import { type Presence } from "./Presence.ts"
import { type Relay } from "./Relay.ts"
import { type StoredReplay } from "./Stored.ts"
import { type ChannelSocket, type Member, type Rooms, sendTo, sendSystem } from "./Rooms.ts"

/** The rights that a token gives the client. */
export interface Authorized {
  readonly actor: Actor
  /** The token's expiry, in ms since 1970. */
  readonly expires: number | undefined
}

/** A client's WebSocket, and how its tokens are verified. */
export interface ChannelClient extends ChannelSocket {
  /** The API key of the connection; as a token it is the same as none. */
  readonly key: string
  /** Fails with a reason for the client. */
  readonly authorize: (token: string | undefined) => Effect.Effect<Authorized, string>
}

export interface ConnectionParts {
  readonly rooms: Rooms
  readonly presence: Presence
  readonly relay: Relay
  readonly authority: Authority
  readonly changes: ChannelChanges
  readonly replay: StoredReplay
}

/** Channels of one connection, and joins within 10 s, which suffice to join all of them again. */
const maxChannels = 100
const maxJoins = 200
/** Each is tested for every change. */
const maxBindings = 100
/** Calls of presence, each of which goes to all members, within 10 s. */
const maxTracks = 100
const windowMillis = 10_000
/** The largest object that a client may show of itself, in characters. */
const maxPresence = 16 * 1024

const status = (status: "ok" | "error", response: object) => JSON.stringify({ status, response })

/** Infinite if it is nested so deeply that it can't be written. */
const jsonLength = (value: object) => {
  try {
    return JSON.stringify(value).length
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** One client's connection: what it may ask, and the channels that it has joined. */
export const makeConnection = (
  { authority, changes, presence, relay, replay, rooms }: ConnectionParts,
  client: ChannelClient
) => {
  const joined = new Map<string, Member>()
  const joins = new RateWindow(maxJoins, windowMillis)
  const tracks = new RateWindow(maxTracks, windowMillis)

  const reply = ({ joinRef, ref, topic }: Incoming, payload: string) => {
    if (ref !== null) client.send(encodeFrame(client.version, { joinRef, ref, topic, event: "phx_reply", payload }))
  }
  const refuse = (message: Incoming, reason: string) => reply(message, status("error", { reason }))

  const forget = (member: Member) => {
    member.left = true
    rooms.remove(member)
    changes.leave(member)
    presence.untrack(member)
  }

  /** Ends a channel, and sends its client `phx_close`. */
  const leave = (topic: string, member: Member) => {
    if (joined.get(topic) === member) joined.delete(topic)
    forget(member)
    const { joinRef } = member
    client.send(encodeFrame(client.version, { joinRef, ref: joinRef, topic, event: "phx_close", payload: "{}" }))
  }

  const end = (topic: string, member: Member, reason: string) => {
    sendSystem(member, "system", "error", reason)
    leave(topic, member)
  }

  const enter = Effect.fnUntraced(function* (message: Incoming, name: string, request: JoinRequest) {
    const { config = {} } = request
    const isPrivate = config.private === true
    const { broadcast } = config
    if (broadcast?.replay && !isPrivate) {
      return yield* Effect.fail("UnableToReplayMessages: Replay is not allowed for public channels")
    }
    const token = request.access_token ?? undefined
    const { actor, expires } = yield* client.authorize(token === client.key ? undefined : token)
    const rights = isPrivate ? yield* authority.rights(actor, name) : allRights
    if (!rights.broadcast.read && !rights.presence.read) {
      return yield* Effect.fail(`Unauthorized: You do not have permissions to read from this Channel topic: ${name}`)
    }
    const before = joined.get(message.topic)
    let count = config.postgres_changes?.length ?? 0
    for (const member of joined.values()) if (member !== before) count += member.changes.length
    if (count > maxBindings) {
      return yield* Effect.fail(`TooManyPostgresChanges: At most ${maxBindings} of one connection`)
    }
    const bindings = changes.bindings(config.postgres_changes ?? [])
    const member: Member = {
      socket: client,
      name,
      private: isPrivate,
      joinRef: message.joinRef ?? message.ref,
      self: broadcast?.self === true,
      ack: broadcast?.ack === true,
      presenceKey: config.presence?.key || randomUUID(),
      presence: config.presence?.enabled === true,
      actor,
      expires,
      rights,
      changes: bindings,
      left: false
    }
    if (before !== undefined) leave(message.topic, before)
    joined.set(message.topic, member)
    rooms.add(member)
    reply(
      message,
      status("ok", { postgres_changes: bindings.map(({ id, request }) => Object.assign({ id }, request)) })
    )
    if (broadcast?.replay && rights.broadcast.read) yield* replay(member, broadcast.replay)
    if (member.presence && rights.presence.read) presence.tellState(member)
    if (broadcast?.replication_ready === true) {
      relay.whenConnected(() => {
        if (!member.left) sendSystem(member, "system", "ok", "Replication connection established")
      })
    }
    return member
  })

  const join = Effect.fnUntraced(function* (message: Incoming) {
    const name = channelName(message.topic)
    if (name === undefined) return refuse(message, "unmatched topic")
    if (name === "") return refuse(message, "TopicNameRequired: You must provide a topic name")
    if (!joins.take(yield* Clock.currentTimeMillis)) {
      return refuse(message, `ClientJoinRateLimitReached: Too many joins, at most ${maxJoins} in 10 s`)
    }
    if (joined.size >= maxChannels && !joined.has(message.topic)) {
      return refuse(message, `ChannelRateLimitReached: Too many channels, at most ${maxChannels} of one connection`)
    }
    const request = decodeJoin(message.payload)
    if (Option.isNone(request)) return refuse(message, "InvalidJoinPayload: The payload of phx_join is invalid")
    const member = yield* Effect.catch(enter(message, name, request.value), (reason) =>
      Effect.sync(() => refuse(message, reason))
    )
    if (member !== undefined && member.changes.length > 0) yield* changes.start(member)
    return undefined
  })

  const send = (message: Incoming, member: Member) => {
    const { broadcast } = message
    if (broadcast === undefined) return refuse(message, "InvalidBroadcast: A broadcast must have an event")
    if (message.payload["persist"] !== undefined && message.payload["persist"] !== false) {
      return reply(message, status("error", { error: "This server does not store broadcasts of clients" }))
    }
    if (!member.rights.broadcast.write) {
      if (member.ack) refuse(message, "Unauthorized: You do not have permissions to write to this Channel topic")
      return
    }
    rooms.broadcast(member, broadcast, member)
    relay.broadcast(member, broadcast)
    if (member.ack) reply(message, status("ok", {}))
  }

  const track = (message: Incoming, member: Member, now: number) => {
    const { event, payload } = message.payload
    const meta = isJsonObject(payload) ? payload : {}
    if (event === "untrack") {
      presence.untrack(member)
      return reply(message, status("ok", {}))
    }
    if (event !== "track") return refuse(message, "InvalidPresence: The event must be track or untrack")
    if (!member.rights.presence.write) {
      return refuse(message, "Unauthorized: You do not have permissions to write to this Channel topic")
    }
    if (!tracks.take(now)) {
      return refuse(message, `ClientPresenceRateLimitReached: Too many presence calls, at most ${maxTracks} in 10 s`)
    }
    if (jsonLength(meta) > maxPresence) {
      return refuse(message, `PresencePayloadTooLarge: At most ${maxPresence} characters`)
    }
    if (!member.presence) {
      member.presence = true
      if (member.rights.presence.read) presence.tellState(member)
    }
    presence.track(member, meta)
    return reply(message, status("ok", {}))
  }

  const refresh = Effect.fnUntraced(function* (topic: string, member: Member, token: unknown) {
    // Clients also send the key, after a sign-out: then the token that they have sent before counts.
    if (typeof token !== "string" || token === client.key || looksLikeKey(token)) return undefined
    const authorized = yield* Effect.result(client.authorize(token))
    if (authorized._tag === "Failure") return end(topic, member, authorized.failure)
    const { actor, expires } = authorized.success
    const rights = member.private
      ? yield* Effect.orElseSucceed(authority.rights(actor, member.name), () => undefined)
      : allRights
    if (joined.get(topic) !== member) return undefined
    if (rights === undefined || (!rights.broadcast.read && !rights.presence.read)) {
      return end(
        topic,
        member,
        `Unauthorized: You do not have permissions to read from this Channel topic: ${member.name}`
      )
    }
    member.actor = actor
    member.expires = expires
    member.rights = rights
    if (!rights.presence.write) presence.untrack(member)
    return undefined
  })

  const handle = Effect.fnUntraced(function* (message: Incoming) {
    const { event, joinRef, topic } = message
    if (topic === "phoenix") return event === "heartbeat" ? reply(message, status("ok", {})) : undefined
    if (event === "phx_join") return yield* join(message)
    const found = joined.get(topic)
    const member = joinRef === null || found?.joinRef === joinRef ? found : undefined
    if (event === "phx_leave") {
      reply(message, status("ok", {}))
      return member === undefined ? undefined : leave(topic, member)
    }
    if (member === undefined) return refuse(message, "unmatched topic")
    if (event === "broadcast") return send(message, member)
    if (event === "presence") return track(message, member, yield* Clock.currentTimeMillis)
    if (event === "access_token") return yield* refresh(topic, member, message.payload["access_token"])
    return refuse(message, noReason)
  })

  return {
    /** Handles one frame of the client, after those before. Fails for JSON that is not decoded. */
    receive: (frame: string | Uint8Array): Effect.Effect<void, InvalidRequest> =>
      Effect.suspend(() => {
        const message = decodeFrame(client.version, frame)
        if (message === undefined) return Effect.void
        if (message instanceof InvalidRequest) return Effect.fail(message)
        return Effect.catchCause(handle(message), logFailure("Failed to handle a message of a channel's client"))
      }),
    /** Closes the channels whose token has expired. */
    expire: (now: number) => {
      for (const [topic, member] of joined) {
        if (member.expires !== undefined && member.expires <= now)
          end(topic, member, "Token has expired, please provide a valid access token")
      }
    },
    /** Makes clients join again those channels whose messages may have been missed. */
    interrupt: () => {
      for (const member of joined.values()) if (member.changes.length > 0) sendTo(member, "phx_error", "{}")
    },
    close: () => {
      for (const member of joined.values()) forget(member)
      joined.clear()
    }
  }
}
export type ChannelConnection = ReturnType<typeof makeConnection>
