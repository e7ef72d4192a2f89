import { assert, it } from "@effect/vitest"
import { Redacted } from "effect"
import { lineSplitter, makeToolMessages } from "../../../src/layers/dumps/native/Process.ts"

const password = Redacted.make("pa$$")

const read = (...lines: ReadonlyArray<string>) => {
  const info: Array<string> = []
  const messages = makeToolMessages((line) => info.push(line))
  for (const line of lines) messages.add(line)
  return { info, warnings: messages.warnings(), reason: messages.reason("it ended", password) }
}

it("lines are split from any chunks, and long lines are truncated", () => {
  for (const size of [1, 2, 3, 7, 1000]) {
    const lines: Array<string> = []
    const cutter = lineSplitter((line) => lines.push(line))
    const text = `one\n\ntwo ü\n${"x".repeat(5_000)}\nlast`
    for (let at = 0; at < text.length; at += size) cutter.push(text.slice(at, at + size))
    cutter.end()
    assert.deepStrictEqual(lines, ["one", "", "two ü", "x".repeat(2_000), "last"], String(size))
  }
})

it("a failure is reported without the statement, the row, the password or notices", () => {
  const { info, reason, warnings } = read(
    "pg_restore: connecting to database for restore",
    "pg_restore: WARNING:  remarked",
    "HINT:  not this one",
    "pg_restore: warning: also this",
    "pg_restore: while PROCESSING TOC:",
    "pg_restore: from TOC entry 3456; 1417 16400 USER MAPPING - far public",
    'pg_restore: error: could not execute query: ERROR:  "pa$$" is not good',
    "DETAIL:  in no way",
    "LINE 1: CREATE USER MAPPING 'secret'",
    "                            ^",
    "Command was: CREATE USER MAPPING FOR public",
    "    OPTIONS (password 'secret');",
    "",
    "pg_restore: error: a worker process died unexpectedly"
  )
  assert.deepStrictEqual(info, ["pg_restore: connecting to database for restore", "pg_restore: WARNING:  remarked"])
  assert.deepStrictEqual(warnings, ["also this"])
  assert.strictEqual(
    reason,
    'could not execute query: ERROR: "****" is not good; DETAIL: in no way; a worker process died unexpectedly (at USER MAPPING - far public)'
  )
})

it("pg_dump's details are reported, but not its statement; lines before the first prefix count as errors", () => {
  assert.strictEqual(
    read(
      'pg_dump: error: Dumping the contents of table "t" failed: PQgetResult() failed.',
      "pg_dump: detail: Error message from server: ERROR:  canceling statement",
      "pg_dump: detail: Command was: COPY public.t (secret) TO stdout;"
    ).reason,
    'Dumping the contents of table "t" failed: PQgetResult() failed.; Error message from server: ERROR: canceling statement'
  )
  assert.strictEqual(
    read("libpq.so.5: cannot open shared object file").reason,
    "libpq.so.5: cannot open shared object file"
  )
  assert.strictEqual(read("pg_dump: reading schemas").reason, "it ended")
})
