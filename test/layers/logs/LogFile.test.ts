import { Effect } from "effect"
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { type LogLine, longestText, withoutCredentials } from "../../../src/domain/logs/Line.ts"
import { postgresLines } from "../../../src/domain/logs/PostgresLine.ts"
import { fileLogger, LogFile } from "../../../src/layers/logs/LogFile.ts"
import { Logger } from "effect"

let path: string
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), "logs-")), "logs")
})
afterEach(() => rm(join(path, ".."), { recursive: true }))

const kept = async () => {
  const names = (await readdir(path)).toSorted()
  const texts = await Promise.all(names.map((name) => readFile(join(path, name), "utf8")))
  return texts
    .flatMap((text) => text.split("\n").filter((line) => line !== ""))
    .map((line) => JSON.parse(line) as LogLine)
}
const line = (text: string): LogLine => ({
  at: "2026-01-01T00:00:00.000Z",
  level: "INFO",
  text,
  details: null,
  request_id: null,
  host: "h",
  worker: 0
})

describe("the log file", () => {
  it("keeps lines from before it was opened, with level, cause and request, bounded and without credentials", async () => {
    const file = new LogFile()
    const log = (effect: Effect.Effect<void>) =>
      Effect.runPromise(Effect.provide(effect, Logger.layer([fileLogger(file)])))
    const key = `svc_sk_${"x".repeat(43)}`
    await log(
      Effect.logWarning("Failed to connect to postgres://ann:secret@db/x").pipe(
        Effect.annotateLogs({ request_id: "r-1", attempt: 2 })
      )
    )
    file.open(path, undefined)
    await log(Effect.logError("Failed", new Error(`refused ${key}`)))
    await log(Effect.logInfo("x".repeat(100_000)))
    file.close()
    const [first, second, third] = await kept()
    assert.containSubset(first, {
      level: "WARN",
      text: "Failed to connect to postgres://ann:…@db/x",
      request_id: "r-1",
      details: '{"attempt":2}'
    })
    assert.strictEqual(second?.level, "ERROR")
    assert.include(JSON.stringify(second), "refused svc_sk_…")
    assert.notInclude(JSON.stringify(second), key)
    assert.isBelow(third?.text.length ?? Infinity, longestText + 50)
    const [name = ""] = await readdir(path)
    assert.strictEqual((await stat(join(path, name))).mode & 0o777, 0o600)
    assert.strictEqual((await stat(path)).mode & 0o777, 0o700)
  })

  it("begins another file after 4 MiB, deletes the oldest beyond 60 MiB, and counts what is too much at once", async () => {
    const file = new LogFile()
    file.open(path, undefined)
    for (let n = 0; n < 20; n++) {
      const name = join(path, `old.0.${1000 + n}.jsonl`)
      await writeFile(name, Buffer.alloc(4 * 1024 * 1024))
      await utimes(name, n, n)
    }
    const text = "x".repeat(4000)
    for (let round = 0; round < 6; round++) {
      for (let n = 0; n < 200; n++) file.add(line(text))
      file.flush()
    }
    for (let n = 0; n < 1000; n++) file.add(line(text))
    file.close()
    const names = (await readdir(path)).toSorted()
    const own = names.filter((name) => !name.startsWith("old"))
    assert.strictEqual(own.length, 2)
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size))
    assert.isAtMost(
      sizes.reduce((a, b) => a + b),
      64 * 1024 * 1024
    )
    assert.notInclude(names, "old.0.1000.jsonl")
    assert.include(names, "old.0.1019.jsonl")
    const last = await readFile(join(path, own.at(-1) ?? ""), "utf8")
    assert.match(last, /\d{3} lines are not kept here/)
  })
})

describe("texts of lines", () => {
  it("have no credentials, and all else", () => {
    for (const [given, shown] of [
      ["key svc_pk_abcDEF-_123 used", "key svc_pk_… used"],
      ["token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_ was", "token eyJ… was"],
      ["https://u:p%40ss@host/a?b=c", "https://u:…@host/a?b=c"],
      ["Authorization: Bearer abcdefgh12345", "Authorization: Bearer …"],
      ["create role x password 'it''s' login", "create role x password '…' login"],
      [`{"password":"hunter2","user":"ann"}`, `{"password":'…',"user":"ann"}`],
      ["host=db password=hunter2 user=ann", "host=db password=… user=ann"],
      ["/realtime?apikey=abc&since=1", "/realtime?apikey=…&since=1"],
      ["?X-Amz-Signature=0a1b&X-Amz-Date=1", "?X-Amz-Signature=…&X-Amz-Date=1"],
      [
        "Responded with 500 INTERNAL_ERROR to GET /v1/db/notes",
        "Responded with 500 INTERNAL_ERROR to GET /v1/db/notes"
      ],
      ['password authentication failed for user "ann"', 'password authentication failed for user "ann"']
    ] as const)
      assert.strictEqual(withoutCredentials(given), shown)
  })

  it("of PostgreSQL are read with what belongs to them", () => {
    const log = [
      "a line of the end of another file",
      "2026-01-31 12:00:00.123 UTC [42] LOG:  database system is ready to accept connections",
      "2026-01-31 12:00:01.000 UTC [43] FATAL:  terminating connection",
      "2026-01-31 12:00:01.000 UTC [43] DETAIL:  The first.",
      "\tThe second.",
      "2026-01-31 12:00:01.000 UTC [43] STATEMENT:  select 'a value',",
      "\t'another value'",
      "2026-01-31 12:00:01.000 UTC [43] CONTEXT:  SQL statement \"select 'a value'\"",
      "2026-01-31 12:00:01.000 UTC [43] HINT:  The third.",
      "2026-01-31 14:00:02.000 +02 [44] WARNING:  in another zone",
      ""
    ].join("\n")
    assert.deepStrictEqual(
      postgresLines(log, "h").map(({ at, details, level, text }) => [at, level, text, details]),
      [
        ["2026-01-31T12:00:00.123Z", "INFO", "database system is ready to accept connections", null],
        [
          "2026-01-31T12:00:01.000Z",
          "FATAL",
          "terminating connection",
          "DETAIL: The first.\nThe second.\nHINT: The third."
        ],
        ["2026-01-31T12:00:02.000Z", "WARN", "in another zone", null]
      ]
    )
  })
})
