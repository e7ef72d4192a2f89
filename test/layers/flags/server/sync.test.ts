import { status } from "@grpc/grpc-js"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { FlagSyncService } from "../../../../src/layers/flags/gen/flagd/sync/v1/sync_pb.ts"
import { type FlagServers, onOff, startFlagServers } from "../../../support/flags/servers.ts"
import { configurationOf, count, deafStream } from "../../../support/flags/streams.ts"
import { type GrpcOptions, grpcClient } from "../../../support/flags/grpc.ts"
import { until } from "../../../support/service.ts"

let servers: FlagServers

beforeEach(async () => {
  servers = await startFlagServers()
  await servers.put("production", { a: onOff(), b: onOff() })
  await servers.put("dev", { d: onOff() })
})
afterEach(() => servers.stop())

const { syncFlags, fetchAllFlags, getMetadata } = FlagSyncService.method

describe("SyncFlags", () => {
  it("sends all flags at once, then all of them after each change", async () => {
    const stream = grpcClient(servers.sync).open(syncFlags, { providerId: "test" })
    assert.strictEqual(await count(stream.messages, 1), 1)
    assert.deepEqual(stream.messages[0]?.syncContext, {})
    assert.deepEqual(configurationOf(stream.messages[0]), {
      flags: {
        a: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on", targeting: {} },
        b: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on", targeting: {} }
      },
      metadata: { flagSetId: "production" }
    })
    await servers.put("production", { a: undefined, b: onOff({ defaultVariant: "off" }), c: onOff() })
    assert.strictEqual(await count(stream.messages, 2), 2)
    const { flags, metadata } = configurationOf(stream.messages[1])
    assert.deepEqual(Object.keys(flags), ["b", "c"])
    assert.strictEqual(flags["b"]?.defaultVariant, "off")
    assert.deepEqual(metadata, { flagSetId: "production" })
    await servers.put("staging", { a: onOff() })
    await sleep(100)
    assert.lengthOf(stream.messages, 2)
    stream.cancel()
    assert.strictEqual(await stream.ended, status.CANCELLED)
  })

  it("sends the version of the set to a flagd that evaluates for the service", async () => {
    await servers.stop()
    servers = await startFlagServers({ host: "127.0.0.1", httpPort: 1 })
    await servers.put("production", { a: onOff() })
    const fetched = await grpcClient(servers.sync).call(fetchAllFlags, {})
    assert.deepEqual(configurationOf(fetched).metadata, { flagSetId: "production", version: "1" })
  })

  it("selects by header or field; the header takes precedence", async () => {
    const client = grpcClient(servers.sync)
    const keys = async (field: string, options: GrpcOptions = {}) => {
      const stream = client.open(syncFlags, { selector: field }, options)
      await count(stream.messages, 1)
      stream.cancel()
      const fetched = await client.call(fetchAllFlags, { selector: field }, options)
      assert.deepEqual(configurationOf(fetched), configurationOf(stream.messages[0]))
      return Object.keys(configurationOf(fetched).flags)
    }
    assert.deepEqual(await keys(""), ["a", "b"])
    assert.deepEqual(await keys("flagSetId=dev"), ["d"])
    assert.deepEqual(await keys("", { selector: "flagSetId=dev" }), ["d"])
    assert.deepEqual(await keys("flagSetId=dev", { selector: "production" }), ["a", "b"])
    assert.deepEqual(await keys("flagSetId=qa"), [])
    assert.strictEqual(await client.open(syncFlags, { selector: "x=y" }).ended, status.INVALID_ARGUMENT)
    assert.deepEqual((await client.call(getMetadata, {})).metadata, {})
    client.close()
  })

  it("joins changes into few messages, the last of which has the final state", async () => {
    const stream = grpcClient(servers.sync).open(syncFlags, {})
    await count(stream.messages, 1)
    for (let n = 0; n < 200; n++) await servers.put("production", { [`n${n}`]: onOff() })
    const last = () => Promise.resolve(Object.keys(configurationOf(stream.messages.at(-1)).flags).length)
    assert.strictEqual(await until(last, (flags) => flags === 202, 3_000), 202)
    assert.isBelow(stream.messages.length, 60)
    stream.cancel()
  })

  it("keeps no more than one snapshot for a client that does not read", async () => {
    const large = (n: number) => onOff({ variants: { on: "x".repeat(1_000_000), n }, defaultVariant: "on" })
    const slow = deafStream(servers.sync)
    await slow.answered
    for (let n = 0; n < 40; n++) {
      await servers.put("production", { large: large(n) })
      await sleep(22)
    }
    const { flags } = configurationOf(await slow.last(({ flags }) => flags["large"]?.variants["n"] === 39))
    assert.deepEqual(Object.keys(flags), ["a", "b", "large"])
    assert.isAtMost(slow.received(), 4)
    slow.close()
  })

  it("ends with DEADLINE_EXCEEDED at the deadline of the client", async () => {
    const stream = grpcClient(servers.sync).open(syncFlags, {}, { deadline: 200 })
    assert.strictEqual(await stream.ended, status.DEADLINE_EXCEEDED)
    assert.lengthOf(stream.messages, 1)
  })

  it("accepts frequent pings", async () => {
    const stream = grpcClient(servers.sync, {
      "grpc.keepalive_time_ms": 50,
      "grpc.keepalive_permit_without_calls": 1
    }).open(syncFlags, {})
    await sleep(1_500)
    await servers.put("production", { a: undefined })
    assert.strictEqual(await count(stream.messages, 2), 2)
    stream.cancel()
  })
})
