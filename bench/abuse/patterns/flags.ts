/** Evaluations of flags, with an anon key on the API's port and without one on those of flagd. */
import { create, toBinary } from "@bufbuild/protobuf"
import { connect as connectHttp2, constants } from "node:http2"
import { ResolveBooleanRequestSchema } from "../../../src/layers/flags/gen/flagd/evaluation/v2/evaluation_pb.ts"
import { type Client, request } from "../client.ts"
import { json, list, type Pattern, requests, type Server, type Target, type Turn } from "../pattern.ts"

/** Lists nested 60 levels deep, a list of numbers, and a text: 60,000 bytes and 9,100 values, nearly all that is accepted. */
const largeContext = () => {
  const nested = `${"[".repeat(60)}${"]".repeat(60)}`
  return `{"country":"ch","nested":[${list(100, () => nested)}],"groups":[${list(3_000, () => 1)}],"text":"${"x".repeat(41_000)}"}`
}
/** Contexts of many keys, of brackets alone, of as many keys as are accepted, and of each in turn. */
const hostile: Readonly<Record<string, string>> = {
  keys: `{${list(80_000, (n) => `"k${n}":1`)}}`,
  brackets: `{"a":${"[".repeat(500_000)}`,
  allowed: `{${list(1_900, (n) => `"key-${n}":"${"x".repeat(10)}"`)}}`
}
const hostileBody = (context: string) => Buffer.from(`{"flagKey":"flag-2","context":${context}}`)

const hostileContexts = (name: string, title: string, bodies: ReadonlyArray<Buffer>): Pattern => ({
  name,
  title,
  server: "api",
  needs: ["flags"],
  attack: requests(({ key }) => (n) => {
    const path = ["/api/flags/evaluate", "/ofrep/v1/evaluate/flags", "/api/flags/evaluate/bulk"][n % 3] ?? ""
    return request("POST", path, { ...json, apikey: key }, bodies[Math.floor(n / 3) % bodies.length] ?? Buffer.alloc(0))
  })
})

const evaluation = (flag: string) => `{"flagKey":"${flag}","context":${largeContext()}}`
const ofrepBody = () => `{"context":${largeContext()}}`
const listed = "flag-2"

const posted = (server: Server, name: string, title: string, path: string, body: () => string): Pattern => ({
  name,
  title,
  server,
  needs: ["flags"],
  attack: requests(({ key }) => {
    const bytes = Buffer.from(body())
    const headers = server === "api" ? { ...json, apikey: key } : json
    return () => request("POST", path, headers, bytes)
  })
})

const largeMessage = () => {
  const groups = Array.from({ length: 5_800 }, () => 1)
  const message = toBinary(
    ResolveBooleanRequestSchema,
    create(ResolveBooleanRequestSchema, { flagKey: listed, context: { groups } })
  )
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** An attack over HTTP/2, with a session for each client and `streams` calls at a time on it. */
const overHttp2 =
  (path: string, body: () => Uint8Array, streams: number) =>
  (target: Target): Turn => {
    const message = body()
    const sessions = new Map<Client, ReturnType<typeof connectHttp2>>()
    const sessionOf = (client: Client) => {
      const open = sessions.get(client)
      if (open !== undefined && !open.closed && !open.destroyed) return open
      const session = connectHttp2(`http://127.0.0.1:${target.ports.flags}`).on("error", () => undefined)
      sessions.set(client, session)
      return session
    }
    const call = (client: Client) =>
      new Promise<void>((done) => {
        const stream = sessionOf(client).request({
          [constants.HTTP2_HEADER_METHOD]: "POST",
          [constants.HTTP2_HEADER_PATH]: path,
          "content-type": "application/grpc",
          te: "trailers"
        })
        let answer: ReturnType<Client["track"]> | undefined = client.track()
        const answered = (status: number | undefined) => {
          answer?.(status)
          answer = undefined
        }
        stream
          .on("response", (headers) => answered(headers[":status"]))
          .on("error", () => undefined)
          .once("close", () => {
            answered(undefined)
            done()
          })
          .resume()
          .end(message)
      })
    return (client) => Promise.all(Array.from({ length: streams }, () => call(client)))
  }

const resolve = "/flagd.evaluation.v2.Service/ResolveBoolean"
const stream = "/flagd.evaluation.v2.Service/EventStream"

export const flags: ReadonlyArray<Pattern> = [
  posted(
    "api",
    "ofrep-one",
    "OFREP with a key, one flag, a context of 60 KB",
    `/ofrep/v1/evaluate/flags/${listed}`,
    ofrepBody
  ),
  posted("api", "ofrep-bulk", "the same, all 100 flags", "/ofrep/v1/evaluate/flags", ofrepBody),
  posted(
    "ofrep",
    "ofrep-port-one",
    "OFREP without a key, one flag, a context of 60 KB",
    `/ofrep/v1/evaluate/flags/${listed}`,
    ofrepBody
  ),
  posted("ofrep", "ofrep-port-bulk", "the same, all 100 flags", "/ofrep/v1/evaluate/flags", ofrepBody),
  posted(
    "ofrep",
    "ofrep-port-small",
    "OFREP without a key, all 100 flags, a small context",
    "/ofrep/v1/evaluate/flags",
    () => "{}"
  ),
  posted("api", "flags-evaluate", "`/api/flags/evaluate`, a context of 60 KB", "/api/flags/evaluate", () =>
    evaluation(listed)
  ),
  posted(
    "api",
    "flags-evaluate-bulk",
    "1,000 flags at a time, a context of 60 KB",
    "/api/flags/evaluate/bulk",
    () => `{"flagKeys":[${list(1_000, (n) => `"flag-${n % 100}"`)}],"context":${largeContext()}}`
  ),
  ...Object.entries(hostile).map(([name, context]) =>
    hostileContexts(`context-${name}`, `contexts of flags at three doors: ${name}`, [hostileBody(context)])
  ),
  hostileContexts("context-mixed", "the same, mixed", Object.values(hostile).map(hostileBody)),
  posted(
    "api",
    "api-keys",
    "a body of 80,000 keys to the management API",
    "/api/auth/login",
    () => hostile["keys"] ?? ""
  ),
  posted("flags", "connect", "Connect without a key, a context of 60 KB", resolve, () => evaluation(listed)),
  posted(
    "sync",
    "flags-fetch",
    "all flags from the sync port",
    "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
    () => "{}"
  ),
  {
    name: "grpc",
    title: "gRPC without a key, a context of 60 KB, 4 calls at a time on each connection",
    needs: ["flags"],
    server: "flags",
    attack: overHttp2(resolve, largeMessage, 4)
  },
  {
    name: "grpc-streams",
    title: "gRPC event streams, 500 on each connection",
    needs: ["flags"],
    server: "flags",
    attack: overHttp2(stream, () => Buffer.alloc(5), 500)
  },
  {
    name: "flags-list",
    title: "`GET /api/flags` and the history of one, with an anon key",
    needs: ["flags"],
    attack: requests(
      ({ key }) =>
        (n) =>
          request("GET", n % 2 === 0 ? "/api/flags" : `/api/flags/${listed}/history?limit=500`, { apikey: key })
    )
  }
]
