import { Code, ConnectError, createClient, createContextValues } from "@connectrpc/connect"
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { eventStream } from "../../../src/layers/flags/server/Evaluation.ts"
import { FlagFeed } from "../../../src/layers/flags/server/Feed.ts"
import { Service as ServiceV1 } from "../../../src/layers/flags/gen/flagd/evaluation/v1/evaluation_pb.ts"
import { Service as ServiceV2 } from "../../../src/layers/flags/gen/flagd/evaluation/v2/evaluation_pb.ts"
import { FlagSyncService } from "../../../src/layers/flags/gen/flagd/sync/v1/sync_pb.ts"
import { type FlagServers, onOff, startFlagServers } from "../../support/flags/servers.ts"
import { count, deafStream } from "../../support/flags/streams.ts"
import { grpcClient } from "../../support/flags/grpc.ts"
import { until } from "../../support/service.ts"

let servers: FlagServers
let stopped: boolean
const stop = async () => {
  if (!stopped) await servers.stop()
  stopped = true
}

beforeEach(async () => {
  stopped = false
  servers = await startFlagServers()
  await servers.put("production", { a: onOff(), b: onOff() })
  await servers.put("dev", { d: onOff() })
})
afterEach(() => stop())

const { syncFlags } = FlagSyncService.method

describe("EventStream", () => {
  const types = (messages: ReadonlyArray<{ readonly type: string }>) => messages.map(({ type }) => type)

  it.each([
    ["v1", ServiceV1.method.eventStream],
    ["v2", ServiceV2.method.eventStream]
  ] as const)("%s begins with provider_ready, then names what changed", async (_version, method) => {
    const stream = grpcClient(servers.evaluation).open(method as typeof ServiceV2.method.eventStream, {})
    await count(stream.messages, 1)
    assert.deepEqual(types(stream.messages), ["provider_ready"])
    await servers.put("production", { a: onOff({ state: "DISABLED" }), b: undefined, c: onOff() })
    await count(stream.messages, 2)
    assert.deepEqual(stream.messages[1]?.data, {
      flags: { a: { type: "update" }, b: { type: "delete" }, c: { type: "write" } }
    })
    assert.deepEqual(types(stream.messages), ["provider_ready", "configuration_change"])
    stream.cancel()
  })

  it("covers every environment without a selector, and one with it", async () => {
    const client = grpcClient(servers.evaluation)
    const method = ServiceV2.method.eventStream
    const [all, production, dev, none] = [
      client.open(method, {}),
      client.open(method, {}, { selector: "flagSetId=production" }),
      client.open(method, {}, { selector: "dev" }),
      client.open(method, {}, { selector: "qa" })
    ]
    for (const { messages } of [all, production, dev, none]) await count(messages, 1)
    await servers.put("dev", { d: undefined })
    await count(dev.messages, 2)
    await servers.put("production", { a: undefined })
    await count(all.messages, 3)
    await count(production.messages, 2)
    assert.deepEqual(
      all.messages.slice(1).flatMap(({ data }) => Object.keys((data?.["flags"] ?? {}) as object)),
      ["d", "a"]
    )
    assert.deepEqual(production.messages[1]?.data, { flags: { a: { type: "delete" } } })
    assert.deepEqual(dev.messages[1]?.data, { flags: { d: { type: "delete" } } })
    assert.deepEqual(
      [production, dev, none].map(({ messages }) => messages.length),
      [2, 2, 1]
    )
    assert.strictEqual(await client.open(method, {}, { selector: "x=y" }).ended, status.INVALID_ARGUMENT)
    client.close()
  })

  it("sends keep-alives every 20 s, and stops when the client disconnects", async () => {
    vi.useFakeTimers()
    try {
      const feed = new FlagFeed({ connection: 1, address: 1 })
      const listening = new AbortController()
      const service = {
        feed,
        now: () => 0,
        current: () => assert.fail("evaluated unexpectedly"),
        environment: "production",
        versioned: false
      } as const
      const stream = eventStream(service, {
        requestHeader: new Headers(),
        signal: listening.signal,
        values: createContextValues()
      })
      assert.deepInclude((await stream.next()).value, { type: "provider_ready" })
      for (let n = 0; n < 3; n++) {
        const next = stream.next()
        await vi.advanceTimersByTimeAsync(19_990)
        assert.strictEqual(await Promise.race([next, "nothing yet"]), "nothing yet")
        await vi.advanceTimersByTimeAsync(20)
        assert.deepEqual(await next, { done: false, value: { type: "keep_alive", data: {} } })
      }
      const last = stream.next().catch((cause: unknown) => cause)
      listening.abort("gone")
      assert.strictEqual(await last, "gone")
      assert.strictEqual(vi.getTimerCount(), 0)
    } finally {
      vi.useRealTimers()
    }
  })

  it("joins changes that arrive together", async () => {
    const { messages } = grpcClient(servers.evaluation).open(ServiceV2.method.eventStream, {})
    await count(messages, 1)
    for (let n = 0; n < 100; n++) await servers.put("production", { [`n${n}`]: onOff() })
    const changed = () =>
      Promise.resolve(new Set(messages.flatMap(({ data }) => Object.keys((data?.["flags"] ?? {}) as object))).size)
    assert.strictEqual(await until(changed, (size) => size === 100, 3_000), 100)
    assert.isBelow(messages.length, 40)
  })
})

describe("too many streams", () => {
  it("of one connection or address are RESOURCE_EXHAUSTED, until others end", async () => {
    const { eventStream: events } = ServiceV2.method
    await servers.stop()
    servers = await startFlagServers({ streams: { connection: 3, address: 5 } })
    // With equal options, grpc-js gives clients the same connection.
    const clientOf = (n: number) => grpcClient(servers.evaluation, { "grpc.primary_user_agent": `client ${n}` })
    const [one, two, sync] = [clientOf(1), clientOf(2), grpcClient(servers.sync)]
    const opened = async (client: typeof one, many: number) => {
      const streams = Array.from({ length: many }, () => client.open(events, {}))
      for (const { messages } of streams) assert.strictEqual(await count(messages, 1), 1)
      return streams
    }
    const [first] = await opened(one, 3)
    assert.strictEqual(await one.open(events, {}).ended, status.RESOURCE_EXHAUSTED, "of the connection")
    await opened(two, 2)
    assert.strictEqual(await two.open(events, {}).ended, status.RESOURCE_EXHAUSTED, "of the address")
    assert.strictEqual(await sync.open(syncFlags, {}).ended, status.RESOURCE_EXHAUSTED, "of all ports")
    await sync.call(FlagSyncService.method.fetchAllFlags, {})
    first?.cancel()
    await first?.ended
    const again = async () => {
      const stream = sync.open(syncFlags, {})
      return await Promise.race([stream.ended, count(stream.messages, 1).then(() => "open")])
    }
    assert.strictEqual(await until(again, (state) => state === "open", 2_000), "open")
    for (const client of [one, two, sync]) client.close()
  })
})

describe("at the end", () => {
  it("every stream ends with UNAVAILABLE, never with OK, and open calls are answered", async () => {
    const evaluation = grpcClient(servers.evaluation)
    const sync = grpcClient(servers.sync)
    const streams = [
      evaluation.open(ServiceV1.method.eventStream, {}),
      evaluation.open(ServiceV2.method.eventStream, {}),
      sync.open(syncFlags, {}),
      sync.open(syncFlags, { selector: "qa" })
    ]
    for (const { messages } of streams) await count(messages, 1)
    const before = performance.now()
    await stop()
    assert.isBelow(performance.now() - before, 2_000)
    for (const { ended } of streams) assert.strictEqual(await ended, status.UNAVAILABLE)
    assert.deepEqual(
      streams[0]?.messages.map((message) => ("type" in message ? message.type : "")),
      ["provider_ready", "provider_shutdown"]
    )
  })

  it.each(["gRPC-Web", "Connect"] as const)("%s clients also receive UNAVAILABLE", async (name) => {
    const options = { baseUrl: `http://${servers.evaluation}`, httpVersion: "1.1" } as const
    const transport = name === "Connect" ? createConnectTransport(options) : createGrpcWebTransport(options)
    const received: Array<string> = []
    const ended = (async () => {
      for await (const { type } of createClient(ServiceV1, transport).eventStream({})) received.push(type)
    })().then(
      () => undefined,
      (cause: unknown) => ConnectError.from(cause).code
    )
    await count(received, 1)
    await stop()
    assert.strictEqual(await ended, Code.Unavailable)
    assert.deepEqual(received, ["provider_ready", "provider_shutdown"])
  })

  it("does not wait for clients that don't read", async () => {
    await servers.put("production", { large: onOff({ variants: { on: "x".repeat(5_000_000) } }) })
    const slow = deafStream(servers.sync)
    await slow.answered
    const before = performance.now()
    await stop()
    assert.isBelow(performance.now() - before, 6_000)
    slow.close()
  }, 15_000)
})
