import { assert, describe, it } from "vitest"
import * as fc from "fast-check"
import { closeSync } from "node:fs"
import { SlidingWindow } from "../../../src/domain/access/SlidingWindow.ts"
import { CountLogFile, openLogFiles } from "../../../src/layers/workers/CountLogFile.ts"

const withFiles = (use: (open: (writer: number, from?: CountLogFile) => CountLogFile) => void) => {
  const files = openLogFiles()
  try {
    use((writer, from) => new CountLogFile(files, writer, from?.position(), () => undefined))
  } finally {
    files.forEach((file) => closeSync(file))
  }
}

const all = (counts: ReadonlyArray<number>) => counts.reduce((sum, count) => sum + count, 0)

const operation = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.tuple(fc.constant("take" as const), fc.nat(3), fc.nat(2), fc.integer({ min: 1, max: 9 }))
  },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant("enter" as const), fc.nat(3), fc.nat(2), fc.integer({ min: 1, max: 6 }))
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant("leave" as const), fc.nat(3), fc.nat(2), fc.constant(0)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("replace" as const), fc.nat(3), fc.constant(0), fc.constant(0)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("rotate" as const), fc.constant(0), fc.constant(0), fc.constant(0)) }
)

describe("processes that share a log", () => {
  it("count together as one process would, while they join, end and change the file", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(operation, fc.integer({ min: 0, max: 30_000 })), { maxLength: 80 }), (steps) =>
        withFiles((open) => {
          const parent = open(1)
          const logs = [2, 3, 4, 5].map((writer) => open(writer, parent))
          const model = new SlidingWindow()
          /** Of each worker, the places of each client. */
          const places = [0, 1, 2, 3].map(() => [0, 0, 0])
          const writerOf = [2, 3, 4, 5]
          let now = 1_000_000
          let writers = 5
          for (const [[kind, which, key, limit], pause] of steps) {
            now += pause
            const log = logs[which] as CountLogFile
            if (kind === "take") {
              const entry = { kind, window: "api-keys", key, limit, now } as const
              assert.deepStrictEqual(log.append(entry), model.take(key, limit, now))
            } else if (kind === "enter") {
              const [mine = []] = [places[which]]
              const full = all(places.map(all)) >= limit
              const expected = full ? "full" : all(places.map((clients) => clients[key] ?? 0)) >= 2 ? "client" : "taken"
              assert.strictEqual(log.append({ kind, key, limit, clientLimit: 2 }), expected)
              if (expected === "taken") mine[key] = (mine[key] ?? 0) + 1
            } else if (kind === "leave") {
              const [mine = []] = [places[which]]
              if (mine[key] === 0) continue
              log.append({ kind, key })
              mine[key] = (mine[key] ?? 0) - 1
            } else if (kind === "replace") {
              parent.append({ kind: "gone", of: writerOf[which] ?? 0 })
              places[which] = [0, 0, 0]
              writerOf[which] = ++writers
              logs[which] = open(writers, parent)
            } else {
              // No process may still read the file that becomes empty.
              for (const one of logs) one.catchUp()
              parent.catchUp()
              parent.rotate()
            }
          }
          for (const log of logs) {
            log.catchUp()
            assert.strictEqual(log.taken, all(places.map(all)))
          }
        })
      ),
      { numRuns: 300 }
    )
  })

  it("repeat in the other file what they wrote after the end of one", () => {
    withFiles((open) => {
      const parent = open(1)
      const late = open(2, parent)
      parent.rotate()
      assert.strictEqual(late.append({ kind: "enter", key: 7, limit: 1, clientLimit: 1 }), "taken")
      parent.catchUp()
      assert.deepStrictEqual([parent.taken, parent.generation, late.generation], [1, 1, 1])
      assert.strictEqual(parent.append({ kind: "enter", key: 8, limit: 1, clientLimit: 1 }), "full")
    })
  })
})
