import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { makeUpstream } from "../../../src/layers/net/Upstream.ts"

/** A process that listens and then does nothing: the system accepts as many connections as its queue holds, and no more. */
const silent = Effect.acquireRelease(
  Effect.promise(async () => {
    const program = `
      const server = require("node:net").createServer().listen(0, "127.0.0.1", 1, () => {
        require("node:fs").writeSync(1, String(server.address().port))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      })`
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] })
    const [port] = (await once(child.stdout, "data")) as [Buffer]
    const idle: Array<Socket> = []
    // Until one is not accepted any more.
    for (let accepted = true; accepted;) {
      const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined)
      idle.push(socket)
      accepted = await Promise.race([
        once(socket, "connect").then(() => true),
        new Promise<boolean>((late) => setTimeout(() => late(false), 200))
      ])
    }
    return { url: `http://127.0.0.1:${port}/`, child, idle }
  }),
  ({ child, idle }) =>
    Effect.sync(() => {
      for (const socket of idle) socket.destroy()
      child.kill("SIGKILL")
    })
)

it.live.runIf(process.platform === "linux")("a server that accepts no connection is silent, not down", () =>
  Effect.gen(function* () {
    const { url } = yield* silent
    const send = yield* makeUpstream
    const failure = yield* Effect.flip(send({ method: "GET", url, millis: 5_000 }))
    assert.deepStrictEqual([failure.reason, failure.message], ["timeout", "UND_ERR_CONNECT_TIMEOUT"])
  })
)

it.live("a server that refuses connections is down", () =>
  Effect.gen(function* () {
    const send = yield* makeUpstream
    const failure = yield* Effect.flip(send({ method: "GET", url: "http://127.0.0.1:1/", millis: 5_000 }))
    assert.deepStrictEqual([failure.reason, failure.message], ["unreachable", "ECONNREFUSED"])
  })
)
