import { Effect, Layer, Queue, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { assert, it } from "@effect/vitest"
import { Listener, type ListenerMessage } from "../../../src/services/ports/Listener.ts"
import { Presence } from "../../../src/services/realtime/channels/Presence.ts"
import { makeRelay } from "../../../src/services/realtime/channels/Relay.ts"
import { Rooms } from "../../../src/services/realtime/channels/Rooms.ts"

const room = { name: "lobby", private: false }
const present = (ref: string) => ({ key: "ann", ref, meta: "" })

/** A relay whose notifications go nowhere, and the connection that it listens to. */
const started = Effect.gen(function* () {
  const incoming = yield* Queue.unbounded<ListenerMessage>()
  const sent: Array<string> = []
  const sql = {
    unsafe: (_: string, [texts]: [string]) => Effect.sync(() => sent.push(...(JSON.parse(texts) as Array<string>)))
  }
  const tagged = Object.assign(() => Effect.succeed([]), sql)
  const listener = Listener.of({
    listen: () =>
      Effect.succeed({ messages: Stream.fromQueue(incoming), join: () => Effect.void, leave: () => Effect.void }),
    status: Effect.never
  })
  const relay = yield* makeRelay().pipe(
    Effect.provide(
      Layer.mergeAll(Layer.succeed(Listener, listener), Layer.succeed(SqlClient.SqlClient, tagged as never))
    )
  )
  const presence = new Presence(new Rooms(), relay.process, relay.presence)
  const broadcasts: Array<string> = []
  yield* relay.start({
    broadcast: (_, { event }) => void broadcasts.push(event),
    row: () => Effect.void,
    presence: (process, change) => presence.change(process, change),
    all: (process, all) => presence.replace(process, all),
    announced: () => presence.announced
  })
  let seq = 0
  const say = (from: string, message: object) =>
    Queue.offer(incoming, {
      _tag: "Notification",
      channel: "svc_channels",
      payload: JSON.stringify({ from, seq: ++seq, message })
    })
  yield* Queue.offer(incoming, { _tag: "Connected" })
  /** Lets everything that is due happen. */
  const settle = TestClock.adjust("1 millis")
  const kinds = () => sent.splice(0).map((text) => (JSON.parse(text) as { message: { kind: string } }).message.kind)
  return { relay, presence, broadcasts, say, settle, kinds, incoming }
})

const refs = (presence: Presence, process: string) =>
  presence["of"](process).flatMap(({ joins }) => joins.map(({ ref }) => ref))

it.effect("says nothing to nobody, answers who starts with all of its own, and then sends", () =>
  Effect.gen(function* () {
    const { broadcasts, kinds, relay, say, settle } = yield* started
    yield* settle
    relay.broadcast(room, { event: "alone", body: "{}" })
    yield* settle
    assert.deepStrictEqual(
      kinds().filter((kind) => kind !== "beat"),
      ["hi"]
    )
    yield* say("other", { kind: "hi" })
    yield* settle
    relay.broadcast(room, { event: "heard", body: "{}" })
    yield* say(relay.process, { kind: "broadcast", ...room, event: "own", text: "{}" })
    yield* say("other", { kind: "broadcast", ...room, event: "theirs", text: "{}" })
    yield* say("other", { kind: "nonsense" })
    yield* settle
    assert.deepStrictEqual(kinds(), ["all", "broadcast"])
    assert.deepStrictEqual(broadcasts, ["theirs"])
    // It may have answered before this one was known to it, or have been dropped by mistake.
    yield* say("another", { kind: "all", all: [] })
    yield* say("late", { kind: "beat" })
    yield* settle
    assert.deepStrictEqual(kinds(), ["all", "all", "hi"])
  })
)

it.effect("those who were present in a process are dropped when it ends, or is silent for 40 s", () =>
  Effect.gen(function* () {
    const { incoming, presence, say, settle } = yield* started
    const join = (from: string) =>
      say(from, { kind: "presence", change: { ...room, joins: [present(from)], leaves: [] } })
    yield* join("ends")
    yield* join("dies")
    yield* join("lives")
    yield* settle
    assert.deepStrictEqual(
      ["ends", "dies", "lives"].flatMap((from) => refs(presence, from)),
      ["ends", "dies", "lives"]
    )
    yield* say("ends", { kind: "bye" })
    for (let n = 0; n < 4; n++) {
      yield* TestClock.adjust("12 seconds")
      yield* say("lives", { kind: "beat" })
    }
    yield* settle
    assert.deepStrictEqual(
      ["ends", "dies", "lives"].flatMap((from) => refs(presence, from)),
      ["lives"]
    )
    // Without a connection nobody is heard, and nobody dropped.
    yield* Queue.offer(incoming, { _tag: "Lost" })
    yield* TestClock.adjust("5 minutes")
    assert.deepStrictEqual(refs(presence, "lives"), ["lives"])
    yield* say("lives", { kind: "all", all: [{ ...room, joins: [present("now")], leaves: [] }] })
    yield* settle
    assert.deepStrictEqual(refs(presence, "lives"), ["now"])
  })
)
