import { assert, describe, it } from "vitest"
import { type BaseBackup } from "../../../src/domain/recovery/Archive.ts"
import {
  coverage,
  type LogPiece,
  parseHistory,
  parsePiece,
  parseSegmentFile,
  pieceName,
  segmentFile
} from "../../../src/domain/recovery/Log.ts"
import { extended, outdated, reaches, recoveryWindows, spans, windowFor } from "../../../src/domain/recovery/Windows.ts"
import { lsnText } from "../../../src/domain/sql/Lsn.ts"

const size = 100n
const piece = (start: number, end: number, until: number, timeline = 1): LogPiece => {
  const given = { timeline, start: BigInt(start), end: BigInt(end), until }
  return { ...given, name: pieceName(given) }
}
const base = (id: string, start: number, end: number, at: number, timeline = 1): BaseBackup => ({
  id,
  timeline,
  start: lsnText(start),
  end: lsnText(end),
  started_at: new Date(at - 5).toISOString(),
  ended_at: new Date(at).toISOString(),
  volumes: [],
  bytes: 1,
  stored_bytes: 1,
  settings: {},
  server_version: "18.4"
})
const log = (pieces: ReadonlyArray<LogPiece>, histories: Record<number, string> = {}) => ({
  pieces,
  segmentSize: size,
  histories: new Map(Object.entries(histories).map(([timeline, text]) => [Number(timeline), parseHistory(text)]))
})
const ends = (all: ReadonlyArray<{ from: number; to: number }>) => all.map(({ from, to }) => [from, to])

describe("names in the archive", () => {
  it("are read as they are written, in the order of positions", () => {
    const pieces = [piece(0, 50, 9), piece(50, 100, 10), piece(0x1_0000_0000, 0x1_0000_0010, 11, 0x1f)]
    for (const one of pieces) assert.deepStrictEqual(parsePiece(one.name), one)
    const names = pieces.map(({ name }) => name)
    assert.deepStrictEqual(names.toSorted(), names)
    for (const name of ["log/x", "log/00000001.history", `${names[0]}.partial`, `a/${names[0]}`]) {
      assert.isUndefined(parsePiece(name))
    }
  })
  it("are those of PostgreSQL for segments", () => {
    const megabytes = 16n * 1024n * 1024n
    assert.strictEqual(segmentFile(3, 0x2_0100_0000n, megabytes), "000000030000000200000001")
    assert.deepStrictEqual(parseSegmentFile("000000030000000200000001", megabytes), {
      timeline: 3,
      start: 0x2_0100_0000n
    })
    assert.isUndefined(parseSegmentFile("00000003.history", megabytes))
  })
})

describe("the log from a position on", () => {
  it("is without gaps and without pieces that others contain, whatever their order", () => {
    const pieces = [piece(0, 10, 1), piece(0, 40, 2), piece(40, 60, 3), piece(30, 50, 3), piece(70, 80, 4)]
    for (let turn = 0; turn < pieces.length; turn++) {
      const turned = [...pieces.slice(turn), ...pieces.slice(0, turn)]
      let reached = 0n
      for (const { end, start } of coverage(turned, 0n)) {
        assert.isTrue(start <= reached && end > reached)
        reached = end
      }
      assert.strictEqual(reached, 60n)
    }
    assert.deepStrictEqual(coverage(pieces, 60n), [])
  })
})

describe("what can be restored", () => {
  const pieces = [piece(0, 100, 100), piece(100, 200, 200), piece(200, 250, 250)]
  it("is from the end of a base backup to the end of the log without a gap", () => {
    assert.deepStrictEqual(ends(recoveryWindows([base("a", 10, 20, 50)], log(pieces))), [[50, 250]])
    assert.deepStrictEqual(ends(recoveryWindows([base("a", 10, 20, 50)], log([pieces[0]!, pieces[2]!]))), [[50, 100]])
  })
  it("is nothing while the log has not reached the end of a base backup", () => {
    assert.deepStrictEqual(recoveryWindows([base("a", 210, 260, 255)], log(pieces)), [])
    assert.deepStrictEqual(recoveryWindows([base("a", 10, 20, 50)], log([])), [])
  })
  it("has the base backup with the least log to read", () => {
    const windows = recoveryWindows([base("b", 110, 120, 150), base("a", 10, 20, 50)], log(pieces))
    assert.strictEqual(windowFor(windows, 149)?.base.id, "a")
    assert.strictEqual(windowFor(windows, 150)?.base.id, "b")
    assert.strictEqual(windowFor(windows, 250)?.base.id, "b")
    for (const time of [49, 251, Number.NaN]) assert.isUndefined(windowFor(windows, time))
    assert.deepStrictEqual(ends(spans(windows)), [[50, 250]])
  })
  it("lasts while nothing is written", () => {
    const windows = recoveryWindows([base("a", 10, 20, 50)], log(pieces))
    assert.deepStrictEqual(ends(extended(windows, 250n, 900)), [[50, 900]])
    assert.deepStrictEqual(ends(extended(windows, 251n, 900)), [[50, 250]])
  })
  it("lasts until a time that was recorded without log", () => {
    const rest = [piece(250, 250, 700), piece(250, 250, 600), piece(300, 300, 900)]
    assert.deepStrictEqual(ends(recoveryWindows([base("a", 10, 20, 50)], log([...pieces, ...rest]))), [[50, 700]])
    assert.deepStrictEqual(coverage([...pieces, ...rest], 0n), pieces)
  })
  it("needs no other base backup while nothing is written, though no time after its end is recorded", () => {
    const late = base("a", 210, 220, 900)
    assert.deepStrictEqual(recoveryWindows([late], log(pieces)), [])
    assert.isTrue(reaches(late, log(pieces), 250n))
    assert.isFalse(reaches(late, log(pieces), 251n))
    assert.isFalse(reaches(base("b", 210, 260, 255), log(pieces), 250n))
    assert.isFalse(reaches(base("a", 10, 20, 50), log([pieces[0]!, pieces[2]!]), 250n))
  })
  it("has a hole where log is missing", () => {
    const after = [piece(0, 100, 100), piece(300, 400, 400)]
    const windows = recoveryWindows([base("a", 10, 20, 50), base("b", 310, 320, 350)], log(after))
    assert.deepStrictEqual(ends(spans(windows)), [
      [50, 100],
      [350, 400]
    ])
    assert.isUndefined(windowFor(windows, 200))
  })
  it("follows the cluster to a new timeline, and leaves what the old one wrote after the switch", () => {
    const both = [piece(0, 100, 100), piece(100, 180, 180), piece(100, 200, 300, 2)]
    const history = "1\t0/96\tno recovery target specified\n"
    const windows = recoveryWindows([base("a", 10, 20, 50)], log(both, { 2: history }))
    assert.strictEqual(windows[0]?.timeline, 2)
    assert.deepStrictEqual(ends(windows), [[50, 300]])
    // A base backup of the part that was left behind.
    const late = recoveryWindows([base("b", 160, 170, 175)], log(both, { 2: history }))
    assert.deepStrictEqual([late[0]?.timeline, ends(late)], [1, [[175, 180]]])
  })
})

describe("what no restore needs", () => {
  it("is before the newest base backup that is older than the time to keep", () => {
    const pieces = [piece(0, 100, 100), piece(100, 200, 200), piece(200, 300, 300)]
    const bases = [base("a", 10, 20, 50), base("b", 110, 120, 150), base("c", 210, 220, 250)]
    const at = (now: number, keep: number) => {
      const old = outdated(recoveryWindows(bases, log(pieces)), bases, pieces, { keep, now, segmentSize: size })
      return [old.bases.map(({ id }) => id), old.pieces.map(({ until }) => until)]
    }
    assert.deepStrictEqual(at(300, 300), [[], []])
    assert.deepStrictEqual(at(300, 151), [[], []])
    assert.deepStrictEqual(at(300, 150), [["a"], [100]])
    assert.deepStrictEqual(at(300, 10), [
      ["a", "b"],
      [100, 200]
    ])
  })
})
