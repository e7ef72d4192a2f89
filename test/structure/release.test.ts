import { assert, describe, it } from "vitest"
import {
  contradictionsOf,
  isLater,
  obstaclesOf,
  type Release,
  releaseFacts,
  type ReleaseFacts
} from "../../scripts/release/agreement.ts"

const first: Release = { version: "0.1.0", date: "2026-01-01", commit: "a".repeat(40), migration: 5, index_format: 2 }

const agreeing: ReleaseFacts = {
  version: "0.1.1",
  named: { "package.json": "0.1.1" },
  changelog: { version: "0.1.1", date: "2026-02-01" },
  releases: [first],
  migrations: [1, 5, 6],
  indexFormat: 2,
  commit: "b".repeat(40),
  changed: []
}

describe("a release", () => {
  it("is possible where everything agrees", () => {
    assert.deepStrictEqual(obstaclesOf(agreeing), [])
  })

  it.each<[about: string, facts: Partial<ReleaseFacts>, fault: RegExp]>([
    ["another version in package.json", { named: { "package.json": "0.1.0" } }, /^package.json names version 0.1.0/],
    ["a heading of another version", { changelog: { version: "0.1.0", date: "2026-01-01" } }, /first heading/],
    [
      "a CHANGELOG without a date",
      { changelog: { version: "0.1.1", date: "unreleased" } },
      /"unreleased": write the date/
    ],
    ["a version that is released", { releases: [{ ...first, version: "0.1.1" }] }, /0.1.1 is released/],
    ["a version below the newest", { releases: [first, { ...first, version: "0.1.2" }] }, /0.1.2, which is later/],
    [
      "releases out of order",
      {
        releases: [
          { ...first, version: "0.1.0" },
          { ...first, version: "0.0.9" }
        ]
      },
      /0.0.9 after/
    ],
    ["a released migration that is gone", { migrations: [1, 4] }, /last migration is 4, but 0.1.0/],
    ["a new format within a minor version", { indexFormat: 3 }, /format 3, and 0.1.0 has 2/],
    ["an older format", { indexFormat: 1 }, /format of the index is 1, but 0.1.0/],
    ["changes that are not committed", { changed: ["src/main.ts"] }, /Not committed: src\/main.ts/],
    ["no git checkout", { commit: undefined }, /no git checkout/]
  ])("is refused with %s", (_, facts, fault) => {
    assert.match(obstaclesOf({ ...agreeing, ...facts }).join("\n"), fault)
  })

  it("of a new minor version may have a new format of the index", () => {
    const version = "0.2.0"
    const changelog = { version, date: "2026-03-01" }
    const next = { ...agreeing, version, named: { "package.json": version }, changelog, indexFormat: 3 }
    assert.deepStrictEqual(obstaclesOf(next), [])
  })

  it("comes after its pre-releases", () => {
    const ordered = ["0.1.0-beta.2", "0.1.0-beta.10", "0.1.0", "0.1.1", "0.1.10", "0.2.0", "1.0.0"]
    for (const [n, version] of ordered.entries())
      for (const [m, other] of ordered.entries())
        assert.strictEqual(isLater(version, other), n > m, `${version} ${other}`)
  })
})

it("version, CHANGELOG, releases.json, migrations and format of this source agree", () => {
  const facts = releaseFacts()
  assert.isNotEmpty(facts.releases)
  assert.deepStrictEqual(contradictionsOf(facts), [])
})
