import { assert, it } from "vitest"
import { type CallerName, pause, serveIsolated, underLoad } from "../../support/rows/isolation.ts"

const { ask } = serveIsolated(
  `
    create table small (id int primary key, name text);
    insert into small values (1, 'one');
    create table large (id int primary key, tags int[]);
    insert into large select n, array(select generate_series(1, 1000)) from generate_series(1, 2000) n;
    analyze;
    grant all on small, large to anon, authenticated;`,
  { SVC_DB_TIMEOUT: "4s" }
)

/** Each of these is compared with each element of each row, which takes some milliseconds a row. */
const absent = Array.from({ length: 1000 }, (_, n) => -n - 1).join()

it("a statement that is slow only with some values does not delay other callers", async () => {
  let slowest = 0
  const small = async (caller: CallerName) => {
    const started = performance.now()
    const { status, text } = await ask(caller, "GET /v1/db/small?select=name&id=eq.1")
    slowest = Math.max(slowest, performance.now() - started)
    return status === 200 && text === '[{"name":"one"}]' ? undefined : `${caller}: ${status} ${text.slice(0, 100)}`
  }
  const large = (shape: number, from: number) =>
    ask("u1", `GET /v1/db/large?select=s${shape}:id&id=gt.${from}&tags=ov.{${absent}}`)
  for (let shape = 0; shape < 2; shape++) {
    // With this value the statement finds no row to compare, and is known to be quick.
    for (let n = 0; n < 30; n++) assert.strictEqual((await large(shape, 2000)).status, 200)
    let took = 0
    const { faults } = await underLoad(
      small,
      async () => {
        await pause(300)
        slowest = 0
        const started = performance.now()
        await large(shape, 0)
        took = performance.now() - started
      },
      24
    )
    assert.deepStrictEqual(faults.slice(0, 5), [])
    assert.isAbove(took, 2000, "the statement was not slow")
    assert.isBelow(slowest, took / 2, "ms that others waited, to half of what the statement took")
  }
})
