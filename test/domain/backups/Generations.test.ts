import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { keptBackups, parseGenerations } from "../../../src/domain/backups/Generations.ts"

const day = 86_400_000
const monday = Date.parse("2026-11-16T03:00:00Z")
const nightly = (nights: number) => Array.from({ length: nights }, (_, n) => ({ id: n + 1, at: monday + n * day }))
const rules = (text: string) => parseGenerations(text) ?? []
const dates = (text: string, backups = nightly(400)) => {
  const { kept } = keptBackups(rules(text), backups)
  return backups.filter(({ id }) => kept.has(id)).map(({ at }) => new Date(at).toISOString().slice(0, 10))
}

const backups = fc
  .uniqueArray(fc.integer({ min: 0, max: 1_500 * 24 }), { maxLength: 200 })
  .map((hours) => hours.map((hour, id) => ({ id, at: monday + hour * 3_600_000 })))
const count = fc.integer({ min: 1, max: 12 })
const unit = fc.constantFrom("", "d", "w", "m", "y")

describe("Generations", () => {
  it.each(["", "-1", "1.5", "7x", "7d,", "7d,3d", "0,7d", "0d", "10001", "7d;4w", "d"])("refuses %j", (text) => {
    expect(parseGenerations(text)).toBeUndefined()
  })

  it("keeps all with 0, and the newest with a number", () => {
    expect(dates("0")).toHaveLength(400)
    expect(dates("0").length).toBe(dates("10000").length)
    expect(dates("3")).toStrictEqual(["2027-12-18", "2027-12-19", "2027-12-20"])
  })

  it("keeps the newest of each day, ISO week, month and year", () => {
    const twice = nightly(3).flatMap(({ id, at }) => [
      { id, at },
      { id: id + 100, at: at + 43_200_000 }
    ])
    expect([...keptBackups(rules("2d"), twice).kept]).toStrictEqual([103, 102])
    expect(dates("3w", nightly(16))).toStrictEqual(["2026-11-22", "2026-11-29", "2026-12-01"])
    expect(dates("3m")).toStrictEqual(["2027-10-31", "2027-11-30", "2027-12-20"])
    expect(dates("2y")).toStrictEqual(["2026-12-31", "2027-12-20"])
    expect(dates("2d, 2w,2m")).toStrictEqual(["2027-11-30", "2027-12-19", "2027-12-20"])
  })

  it("keeps the union of its rules, always the newest, and no more than their sum", () => {
    fc.assert(
      fc.property(backups, count, unit, count, unit, (given, n, a, m, b) => {
        fc.pre(a !== b)
        const both = keptBackups(rules(`${n}${a},${m}${b}`), given)
        const one = keptBackups(rules(`${n}${a}`), given)
        const other = keptBackups(rules(`${m}${b}`), given)
        expect([...both.kept].toSorted()).toStrictEqual([...new Set([...one.kept, ...other.kept])].toSorted())
        expect(one.kept.size).toBeLessThanOrEqual(n)
        expect(one.full).toBe(one.kept.size === n)
        expect(both.full).toBe(one.full && other.full)
        const newest = given.toSorted((x, y) => y.at - x.at)[0]
        if (newest !== undefined) expect(one.kept.has(newest.id)).toBe(true)
      })
    )
  })

  it("never removes later what a larger number keeps, nor depends on the order", () => {
    fc.assert(
      fc.property(backups, count, unit, (given, n, by) => {
        const { kept } = keptBackups(rules(`${n}${by}`), given)
        expect(keptBackups(rules(`${n}${by}`), given.toReversed()).kept).toStrictEqual(kept)
        // Removing what is not kept changes nothing: pruning again removes no more.
        const left = given.filter(({ id }) => kept.has(id))
        expect(keptBackups(rules(`${n}${by}`), left).kept.size).toBe(left.length)
        const more = keptBackups(rules(`${n + 1}${by}`), given).kept
        for (const id of kept) expect(more.has(id)).toBe(true)
      })
    )
  })
})
