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

/** The columns of the batch: table, operation, time, row, former row, what the feed gets, position; then the last position. */
const read = (messages: ReadonlyArray<LogMessage>, handled?: LogPosition) => {
  const [reader, batch] = [new LogReader(handled), new ChangeBatch()]
  for (const message of messages) reader.read(message, batch, new Map())
  const [, , , , rows, old, feed, positions, lsn, done] = batch.params as ReadonlyArray<ReadonlyArray<string>>
  return { batch, rows, old, feed, positions, position: `${String(lsn)} ${String(done)}` }
}

describe("a batch of changes", () => {
  it("has none that were handled before, also of a transaction of which a part was", () => {
    const updates = (lsn: bigint) => ["1", "2", "3"].map((id) => update([id, String(lsn % 16n)]))
    const transaction = (lsn: bigint) => [begin(lsn), ...updates(lsn), commit(lsn + 1n)]
    const messages = [relation, ...[5n, 0x1_0000_0007n, 0x1_0000_0009n].flatMap(transaction)]
    const all = read(messages)
    assert.strictEqual(all.rows?.length, 9)
    assert.strictEqual(all.position, "1/9 3")
    assert.strictEqual(all.batch.end, 0x1_0000_000an)
    const rest = read(messages, { lsn: 0x1_0000_0007n, done: 2 })
    assert.deepStrictEqual(rest.rows, [
      '{"id":3,"text":"7"}',
      '{"id":1,"text":"9"}',
      '{"id":2,"text":"9"}',
      '{"id":3,"text":"9"}'
    ])
    assert.deepStrictEqual(rest.positions, all.positions?.slice(5), "each has the same name when it is read again")
    assert.strictEqual(new Set(all.positions).size, 9)
    const none = read(messages, { lsn: 0x1_0000_0009n, done: 3 })
    assert.isTrue(none.batch.isEmpty)
    assert.strictEqual(none.batch.end, 0x1_0000_000an, "the log is not needed any more")
  })

  it("takes large values that did not change from the former row, and leaves them out of large events", () => {
    const large = "x".repeat(5 * 1024 * 1024)
    const { feed, old, rows } = read([relation, begin(1n), update(["2", undefined], ["1", "a"]), update(["2", large])])
    assert.strictEqual(rows?.[0], '{"id":2,"text":"a"}')
    assert.strictEqual(old?.[0], '{"id":1,"text":"a"}')
    assert.strictEqual(rows?.[1]?.length, large.length + 18)
    assert.deepStrictEqual(feed, ["", ',"row":{"id":2},"old_row":null,"truncated":true'])
  })

  it("has 10,000 events of a table in a transaction, then one gap", () => {
    const many = Array.from({ length: 10_002 }, () => update(["1", "a"]))
    const { feed, rows } = read([relation, begin(1n), ...many, commit(2n), begin(3n), update(["1", "a"])])
    assert.strictEqual(rows?.length, 10_003, "webhooks get all")
    assert.deepStrictEqual(feed?.slice(9_999), ["", "gap", "none", ""])
  })
})
