import { setImmediate as turn } from "node:timers/promises"
import { assert, it } from "vitest"
import { Crowd } from "../../../../src/layers/flags/server/Peer.ts"

it("gives each of many calls of an address a turn of the event loop, but not the first few", async () => {
  const crowd = new Crowd()
  const started: Array<string> = []
  const start = (address: string, name: string) => void crowd.turn(address).then(() => started.push(name))
  for (let n = 0; n < 30; n++) start("a", `a${n}`)
  start("b", "b")
  await new Promise<void>((done) => process.nextTick(done))
  assert.deepStrictEqual(started, ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "b"])
  let turns = 0
  while (started.length < 31 && turns < 1_000) {
    await turn()
    turns++
  }
  assert.strictEqual(started.at(-1), "a29")
  assert.isAtLeast(turns, 20)
  // A later call is one of the first again.
  start("a", "later")
  await new Promise<void>((done) => process.nextTick(done))
  assert.strictEqual(started.at(-1), "later")
})
