import { assert, it, vi } from "@effect/vitest"
import { createServer } from "node:http"
import { withShortTurns } from "../../../src/layers/net/ShortTurns.ts"

const aTurn = () => new Promise((next) => setImmediate(next))

it("starts requests for 10 ms in a turn of the event loop, in order, and none whose client has gone", async () => {
  const started: Array<number> = []
  let now = 0
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now)
  const server = withShortTurns(
    createServer((request) => {
      now += 6
      started.push(Number(request.url))
    })
  )
  for (let url = 0; url < 7; url++) server.emit("request", { url } as never, { destroyed: url === 3 } as never)
  assert.deepStrictEqual(started, [0, 1])
  await aTurn()
  assert.deepStrictEqual(started, [0, 1, 2, 4])
  server.emit("request", { url: 7 } as never, { destroyed: false } as never)
  await aTurn()
  assert.deepStrictEqual(started, [0, 1, 2, 4, 5, 6])
  await aTurn()
  assert.deepStrictEqual(started, [0, 1, 2, 4, 5, 6, 7])
  await aTurn()
  await aTurn()
  server.emit("request", { url: 8 } as never, { destroyed: false } as never)
  assert.strictEqual(started.at(-1), 8)
  clock.mockRestore()
})
