import { Clock, Context, Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { type Broadcast } from "../../../domain/realtime/channels/Frames.ts"
import { SupabaseSettings } from "../../supabase/Settings.ts"
import { type Actor } from "../../ports/Db.ts"
import { Realtime } from "../Realtime.ts"
import { allRights, makeAuthority } from "./Authority.ts"
import { makeChanges } from "./changes/Changes.ts"
import { type ChannelClient, type ChannelConnection, makeConnection } from "./Connection.ts"
import { Presence } from "./Presence.ts"
import { makeRelay } from "./Relay.ts"
import { type RoomName, Rooms } from "./Rooms.ts"
import { makeStored } from "./Stored.ts"

/** How often tokens are checked for their end. */
const expiryInterval = "1 second"

/**
 * Channels of Supabase's clients: broadcasts between clients, presence, and changes of tables to those who may read the
 * rows. Undefined without SVC_SUPABASE.
 */
export class Channels extends Context.Service<
  Channels,
  | {
      /** Serves a client until the scope closes. */
      readonly connect: (client: ChannelClient) => Effect.Effect<ChannelConnection, never, Scope.Scope>
      /** Sends a broadcast of a caller that is in no channel; false if policies forbid it. */
      readonly publish: (actor: Actor, room: RoomName, broadcast: Broadcast) => Effect.Effect<boolean, string>
    }
  | undefined
>()("svc/services/Channels") {
  static readonly layer = Layer.effect(
    Channels,
    Effect.gen(function* () {
      if (!(yield* SupabaseSettings).enabled) return undefined
      const realtime = yield* Realtime
      const rooms = new Rooms()
      const relay = yield* makeRelay()
      const presence = new Presence(rooms, relay.process, relay.presence)
      const authority = yield* makeAuthority
      const { deliver, replay } = yield* makeStored(rooms)
      const connections = new Set<ChannelConnection>()
      const interrupt = () => {
        for (const connection of connections) connection.interrupt()
      }
      const changes = yield* makeChanges(interrupt)
      yield* Stream.fromSubscription(yield* realtime.feed).pipe(
        Stream.runForEach((message) =>
          Effect.sync(() => (message._tag === "Event" ? changes.take(message.event) : interrupt()))
        ),
        Effect.forkScoped
      )
      yield* relay.start({
        broadcast: (room, broadcast) => rooms.broadcast(room, broadcast),
        row: deliver,
        presence: (process, change) => presence.change(process, change),
        all: (process, all) => presence.replace(process, all),
        announced: () => presence.announced
      })
      yield* Clock.currentTimeMillis.pipe(
        Effect.map((now) => {
          for (const connection of connections) connection.expire(now)
        }),
        Effect.repeat(Schedule.spaced(expiryInterval)),
        Effect.forkScoped
      )

      const connect = (client: ChannelClient) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const connection = makeConnection({ authority, changes, presence, relay, replay, rooms }, client)
            connections.add(connection)
            return connection
          }),
          (connection) =>
            Effect.sync(() => {
              connections.delete(connection)
              connection.close()
            })
        )

      const publish = Effect.fnUntraced(function* (actor: Actor, room: RoomName, broadcast: Broadcast) {
        const rights = room.private ? yield* authority.rights(actor, room.name) : allRights
        if (!rights.broadcast.write) return false
        rooms.broadcast(room, broadcast)
        relay.broadcast(room, broadcast)
        return true
      })

      return Channels.of({ connect, publish })
    })
  )
}
