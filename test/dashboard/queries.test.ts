import { QueryObserver } from "@tanstack/react-query"
import { assert, describe, it } from "vitest"
import { Queries } from "../../dashboard/src/wire/Queries.ts"

/** A source whose answers arrive when they are released, each as the source was when it was asked. */
const makeSource = () => {
  let value = "old"
  const waiting: Array<() => void> = []
  return {
    change: () => {
      value = "new"
    },
    release: () => waiting.splice(0).forEach((answer) => answer()),
    options: {
      queryKey: ["source"],
      staleTime: 60_000,
      queryFn: () => {
        const asked = value
        return new Promise<string>((resolve) => waiting.push(() => resolve(asked)))
      }
    }
  }
}

const until = async (done: () => boolean) => {
  for (let turns = 0; turns < 100 && !done(); turns++) await new Promise((resolve) => setImmediate(resolve))
  assert.isTrue(done())
}

describe("an answer that is on its way when its data change", () => {
  for (const loaded of [false, true]) {
    it(`is not shown, but asked for again: ${loaded ? "of a page that has data" : "the first one of a page"}`, async () => {
      const client = new Queries()
      const source = makeSource()
      if (loaded) client.setQueryData(["source"], "before", { updatedAt: 1 })
      const page = new QueryObserver(client, source.options)
      const shown: Array<unknown> = []
      const leave = page.subscribe(({ data }) => void shown.push(data))
      source.change()
      const read = client.invalidateQueries({ queryKey: ["source"] })
      await until(() => (source.release(), page.getCurrentResult().data === "new"))
      await read
      assert.notInclude(shown, "old")
      assert.strictEqual(page.getCurrentResult().fetchStatus, "idle")
      leave()
    })

    it(`is asked for again by the next page: ${loaded ? "with data" : "the first one"}`, async () => {
      const client = new Queries()
      const source = makeSource()
      if (loaded) client.setQueryData(["source"], "before", { updatedAt: 1 })
      new QueryObserver(client, source.options).subscribe(() => {})()
      const early = client.prefetchQuery(source.options)
      source.change()
      await client.invalidateQueries({ queryKey: ["source"] })
      source.release()
      await early
      const page = new QueryObserver(client, source.options)
      const leave = page.subscribe(() => {})
      await until(() => (source.release(), page.getCurrentResult().data === "new"))
      leave()
    })
  }
})
