import { assert, it, vi } from "@effect/vitest"
import { createServer } from "node:http"
import { withShortTurns } from "../../../src/layers/net/ShortTurns.ts"

const aTurn = () => new Promise((next) => setImmediate(next))
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at).filter((at) => at !== 3)

it("starts requests for 3 ms in a turn of the event loop, in order, and none whose client has gone", async () => {
  let now = 0
  let millis = 2
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now)
  const started: Array<number> = []
  const server = withShortTurns(
    createServer((request) => {
      now += millis
      started.push(Number(request.url))
    })
  )
  const arrive = (url: number) => server.emit("request", { url } as never, { destroyed: url === 3 } as never)
  for (let url = 0; url < 30; url++) arrive(url)
  assert.deepStrictEqual(started, upTo(9))
  await aTurn()
  assert.deepStrictEqual(started, upTo(17))
  // Behind those that wait.
  arrive(30)
  await aTurn()
  assert.deepStrictEqual(started, upTo(25))
  await aTurn()
  assert.deepStrictEqual(started, upTo(31))
  await aTurn()
  millis = 0.05
  for (let url = 31; url < 90; url++) arrive(url)
  assert.deepStrictEqual(started, upTo(90))
  clock.mockRestore()
})
