import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { shownMoment, withZone } from "../../dashboard/src/tables/grid/moments.ts"
import { choiceOf } from "../../dashboard/src/ui/finder/combobox.ts"
import { lostOf, placeIn, withoutPlace, withPlace } from "../../dashboard/src/wire/placeAddress.ts"
import { type Viewer, viewerOf, viewerText } from "../../dashboard/src/wire/viewer.ts"

describe("the place in an address", () => {
  it("is written beside the rest, which stays as it is, and read again", () => {
    const search = "?status=in.(%22a%22,b)&order=id.asc&%22branch%22=eq.x"
    const place = { branch: "3", as: 'user:a&b=c"' }
    const written = withPlace(search, place)
    assert.isTrue(written.startsWith(search))
    assert.deepStrictEqual(placeIn(written), place)
    assert.strictEqual(withoutPlace(written), search)
    assert.strictEqual(withPlace(written, {}), search)
    assert.strictEqual(withPlace("", {}), "")
    assert.deepStrictEqual(placeIn("?branch=1&%62ranch=2"), { branch: "1 2" })
    assert.strictEqual(withoutPlace("?%62ranch=2&a=1"), "?a=1")
  })
  it("is lost only if the address does not mention it", () => {
    assert.deepStrictEqual(lostOf({}, { branch: "3", as: "anon" }), { branch: "3", as: "anon" })
    assert.deepStrictEqual(lostOf({ branch: "main" }, { branch: "3", as: "anon" }), { as: "anon" })
    assert.deepStrictEqual(lostOf({ branch: "4", as: "service" }, { branch: "3", as: "anon" }), {})
    assert.deepStrictEqual(lostOf({ branch: "4" }, {}), {})
  })
  it("has every caller", () => {
    const viewers: fc.Arbitrary<Viewer> = fc.record({
      role: fc.constant("authenticated" as const),
      sub: fc.string(),
      claims: fc.dictionary(fc.string(), fc.integer()).map((claims) => JSON.stringify(claims))
    })
    fc.assert(
      fc.property(viewers, (viewer) => {
        const found = viewerOf(placeIn(withPlace("", { as: viewerText(viewer) })).as ?? "")
        assert.deepStrictEqual(
          { ...found, claims: JSON.parse(found?.claims ?? "") },
          { ...viewer, claims: JSON.parse(viewer.claims) }
        )
      })
    )
    for (const text of [
      "",
      "service_role",
      "admin",
      "{}",
      '{"sub":1,"claims":{}}',
      '{"sub":"a","claims":{},"role":"x"}',
      "null"
    ])
      assert.isUndefined(viewerOf(text), text)
  })
})

describe("the choice that counts", () => {
  const isKey = (text: string) => /^\d+$/.test(text)
  const choices = [
    { key: "3", label: "AAA 17" },
    { key: "17", label: "Company 17" },
    { key: "20", label: "Twice" },
    { key: "21", label: "twice" },
    { key: "22", label: "99" }
  ]
  const key = (words: string, typed: string, moved?: number) => {
    const at = choiceOf({ words, choices }, typed, moved, isKey)
    return at === undefined ? undefined : choices[at]?.key
  }
  it("is the key that was typed, a label that is no key and names one, or what was moved to", () => {
    assert.strictEqual(key("17", "17"), "17")
    assert.strictEqual(key("company 17", "company 17"), "17")
    assert.isUndefined(key("twice", "twice"))
    assert.isUndefined(key("99", "99"))
    assert.isUndefined(key("Company", "Company"))
    assert.strictEqual(key("Company", "Company", 1), "17")
    assert.isUndefined(key("", ""))
    assert.strictEqual(key("", "", 0), "3")
  })
  it("is none of a list of another text", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.option(fc.nat(4), { nil: undefined }), (words, typed, moved) => {
        if (words !== typed) assert.isUndefined(key(words, typed, moved))
      })
    )
  })
})

describe("a moment", () => {
  it("gets the zone that is shown, unless it has one", () => {
    for (const [typed, meant] of [
      ["2026-06-15 14:10", "2026-06-15 14:10+00"],
      ["2026-06-15T14:10:00.5", "2026-06-15 14:10:00.5+00"],
      ["2026-06-15", "2026-06-15 00:00:00+00"],
      ["0044-03-15 12:00 bc", "0044-03-15 12:00+00 BC"]
    ] as const)
      assert.strictEqual(withZone(typed), meant)
    for (const same of [
      "2026-06-15 14:10+02",
      "2026-06-15 14:10Z",
      "2026-06-15 14:10 Europe/Berlin",
      "now",
      "infinity"
    ])
      assert.strictEqual(withZone(same), same)
    assert.strictEqual(shownMoment("2026-06-15T14:10:00.5+00:00"), "2026-06-15 14:10:00.5+00")
    assert.strictEqual(shownMoment("0044-03-15T12:00:00+00:00 BC"), "0044-03-15 12:00:00+00 BC")
    assert.strictEqual(shownMoment("2026-06-15T14:10:00+05:30"), "2026-06-15 14:10:00+05:30")
    assert.strictEqual(shownMoment("2026-06-15T14:10:00"), "2026-06-15 14:10:00")
  })
})
