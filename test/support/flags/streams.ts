import { fromBinary } from "@bufbuild/protobuf"
import { once } from "node:events"
import { connect } from "node:http2"
import { SyncFlagsResponseSchema } from "../../../src/layers/flags/gen/flagd/sync/v1/sync_pb.ts"
import { until } from "../service.ts"

/** The messages of SyncFlags. */
export interface FlagConfiguration {
  readonly flags: Readonly<
    Record<
      string,
      {
        readonly state: string
        readonly variants: Readonly<Record<string, unknown>>
        readonly defaultVariant: string
        readonly targeting: object
      }
    >
  >
  readonly metadata?: object
}
export const configurationOf = (message: { readonly flagConfiguration: string } | undefined) =>
  JSON.parse(message?.flagConfiguration ?? "null") as FlagConfiguration

/** The count once it reaches the expected one, or after 3 s. */
export const count = async (messages: ReadonlyArray<unknown>, wanted: number) => {
  await until(
    async () => messages.length,
    (length) => length >= wanted,
    3_000
  )
  return messages.length
}

/** SyncFlags by a client that does not read until the last message is requested. */
export const deafStream = (address: string) => {
  const session = connect(`http://${address}`)
  session.on("error", () => {})
  const stream = session.request({
    ":method": "POST",
    ":path": "/flagd.sync.v1.FlagSyncService/SyncFlags",
    "content-type": "application/grpc",
    te: "trailers"
  })
  stream.on("error", () => {})
  // An empty message, uncompressed.
  stream.end(Buffer.alloc(5))
  let received = 0
  return {
    answered: once(stream, "response"),
    received: () => received,
    last: async (good: (configuration: FlagConfiguration) => boolean) => {
      let rest = Buffer.alloc(0)
      for await (const part of stream as AsyncIterable<Buffer>) {
        rest = Buffer.concat([rest, part])
        while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
          const message = fromBinary(SyncFlagsResponseSchema, rest.subarray(5, 5 + rest.readUInt32BE(1)))
          rest = rest.subarray(5 + rest.readUInt32BE(1))
          received++
          if (good(configurationOf(message))) return message
        }
      }
      throw new Error("The stream ended too early")
    },
    close: () => session.destroy()
  }
}
