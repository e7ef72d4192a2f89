import { assert, describe, it } from "vitest"
import { type LogMessage, type LogTuple } from "../../../src/domain/changes/LogMessage.ts"
import { ChangeBatch, type LogPosition, LogReader } from "../../../src/services/changes/Batch.ts"

const columns = [
  { name: "id", type: 23 },
  { name: "text", type: 25 }
]
const relation: LogMessage = { _tag: "Relation", bytes: 1, relation: { oid: 1, schema: "public", name: "t", columns } }
const begin = (lsn: bigint): LogMessage => ({ _tag: "Begin", bytes: 1, lsn, micros: 1_000_000 })
const update = (row: LogTuple, old?: LogTuple): LogMessage => ({
  _tag: "Change",
  bytes: 1,
  operation: "UPDATE",
  oid: 1,
  row,
  old
})
const commit = (end: bigint): LogMessage => ({ _tag: "Commit", bytes: 1, end })

/** The columns of the batch: table, operation, time, the JSON from the rows on, what the feed gets, position; then the last position. */
const read = (messages: ReadonlyArray<LogMessage>, handled?: LogPosition) => {
  const [reader, batch] = [new LogReader(handled), new ChangeBatch()]
  for (const message of messages) reader.read(message, batch, new Map())
  const [, , , , rests, feed, positions, lsn, done] = batch.params as ReadonlyArray<ReadonlyArray<string>>
  return { batch, rests, feed, positions, position: `${String(lsn)} ${String(done)}` }
}

/** The JSON of a change after its operation; `more`: between the rows and the time. */
const restOf = (row: string, old = "null", more = "") =>
  `,"row":${row},"old_row":${old}${more},"timestamp":"1970-01-01T00:00:01.000Z"}`

describe("a batch of changes", () => {
  it("has none that were handled before, also of a transaction of which a part was", () => {
    const updates = (lsn: bigint) => ["1", "2", "3"].map((id) => update([id, String(lsn % 16n)]))
    const transaction = (lsn: bigint) => [begin(lsn), ...updates(lsn), commit(lsn + 1n)]
    const messages = [relation, ...[5n, 0x1_0000_0007n, 0x1_0000_0009n].flatMap(transaction)]
    const all = read(messages)
    assert.strictEqual(all.rests?.length, 9)
    assert.strictEqual(all.position, "1/9 3")
    assert.strictEqual(all.batch.end, 0x1_0000_000an)
    const rest = read(messages, { lsn: 0x1_0000_0007n, done: 2 })
    assert.deepStrictEqual(rest.rests, [
      restOf('{"id":3,"text":"7"}'),
      restOf('{"id":1,"text":"9"}'),
      restOf('{"id":2,"text":"9"}'),
      restOf('{"id":3,"text":"9"}')
    ])
    assert.deepStrictEqual(rest.positions, all.positions?.slice(5), "each has the same name when it is read again")
    assert.strictEqual(new Set(all.positions).size, 9)
    const none = read(messages, { lsn: 0x1_0000_0009n, done: 3 })
    assert.isTrue(none.batch.isEmpty)
    assert.strictEqual(none.batch.end, 0x1_0000_000an, "the log is not needed any more")
  })

  it("takes large values that did not change from the former row, and leaves them out of large events", () => {
    const large = "x".repeat(5 * 1024 * 1024)
    const { feed, rests } = read([relation, begin(1n), update(["2", undefined], ["1", "a"]), update(["2", large])])
    assert.deepStrictEqual(rests, [
      restOf('{"id":2,"text":"a"}', '{"id":1,"text":"a"}'),
      restOf(`{"id":2,"text":"${large}"}`)
    ])
    assert.deepStrictEqual(feed, ["", restOf('{"id":2}', "null", ',"truncated":true')])
  })

  it("has 10,000 events of a table in a transaction, then one gap", () => {
    const many = Array.from({ length: 10_002 }, () => update(["1", "a"]))
    const { feed, rests } = read([relation, begin(1n), ...many, commit(2n), begin(3n), update(["1", "a"])])
    assert.strictEqual(rests?.length, 10_003, "webhooks get all")
    assert.deepStrictEqual(feed?.slice(9_999), ["", ',"gap":true}', "none", ""])
  })
})
