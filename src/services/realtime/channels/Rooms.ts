import {
  type Broadcast,
  type ChangesRequest,
  type Version,
  encodeBroadcast,
  encodeFrame,
  topicOf
} from "../../../domain/realtime/channels/Frames.ts"
import { type Actor } from "../../ports/Db.ts"

/** A channel's request for changes of one table or several. */
export interface ChangeBinding {
  /** The number by which the client finds the request of an event. */
  readonly id: number
  /** The request as the client sent it. */
  readonly request: ChangesRequest
}

let last = 0

/** Numbers the requests of a channel. */
export const bindingsOf = (requests: ReadonlyArray<ChangesRequest>): ReadonlyArray<ChangeBinding> =>
  requests.map((request) => ({ id: (last = (last % 2_000_000_000) + 1), request }))

/** One client's WebSocket. */
export interface ChannelSocket {
  readonly version: Version
  /** Must not wait or fail: the next client is served when it returns. */
  readonly send: (frame: string | Uint8Array) => void
}

/** The rights that the policies of a private channel give, by kind of message. */
export interface Right {
  readonly read: boolean
  readonly write: boolean
}
export interface Rights {
  readonly broadcast: Right
  readonly presence: Right
}

/** The name of a channel, and whether it is private: of the same name there may be one of each. */
export interface RoomName {
  readonly name: string
  readonly private: boolean
}

/** A client that has joined a channel. */
export interface Member extends RoomName {
  readonly socket: ChannelSocket
  readonly joinRef: string | null
  /** Its own broadcasts return to it. */
  readonly self: boolean
  /** Its broadcasts are acknowledged. */
  readonly ack: boolean
  readonly presenceKey: string
  /** Whether it receives presence messages. */
  presence: boolean
  actor: Actor
  /** The token's expiry, in ms since 1970. */
  expires: number | undefined
  rights: Rights
  readonly changes: ReadonlyArray<ChangeBinding>
  /** Set once it has left, or its connection has ended. */
  left: boolean
}

export const roomKey = (room: RoomName) => `${room.private ? "private" : "public"} ${room.name}`

/** The members in this process of every channel. */
export class Rooms {
  private readonly all = new Map<string, Set<Member>>()

  add(member: Member) {
    const key = roomKey(member)
    const members = this.all.get(key) ?? new Set()
    this.all.set(key, members.add(member))
  }

  remove(member: Member) {
    const key = roomKey(member)
    const members = this.all.get(key)
    if (members?.delete(member) === true && members.size === 0) this.all.delete(key)
  }

  members(room: RoomName): Iterable<Member> {
    return this.all.get(roomKey(room)) ?? []
  }

  *everyone(): Iterable<Member> {
    for (const members of this.all.values()) yield* members
  }

  /** Each frame is written once for all clients of a version. */
  broadcast(room: RoomName, broadcast: Broadcast, from?: Member) {
    const frames = new Map<Version, string | Uint8Array | undefined>()
    for (const member of this.members(room)) {
      if ((member === from && !member.self) || !member.rights.broadcast.read) continue
      const { version } = member.socket
      if (!frames.has(version)) frames.set(version, encodeBroadcast(version, topicOf(room.name), broadcast))
      const frame = frames.get(version)
      if (frame !== undefined) member.socket.send(frame)
    }
  }
}

/** Sends a message of the server to one member. */
export const sendTo = (member: Member, event: string, payload: string) =>
  member.socket.send(encodeFrame(member.socket.version, { topic: topicOf(member.name), event, payload }))

/** Reports the state of a part of a channel, for which apps wait. */
export const sendSystem = (member: Member, extension: string, status: "ok" | "error", message: string) =>
  sendTo(member, "system", JSON.stringify({ extension, status, message, channel: member.name }))
