import { assert, describe, it } from "@effect/vitest"
import { accentsOf } from "../../../src/domain/identity/Accent.ts"

const grounds = { light: "#ffffff", dark: "#1f2328" }

/** WCAG 2.2, written again: the contrast of two colours. */
const contrast = (one: string, other: string) => {
  const luminance = (hex: string) => {
    const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
      const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

describe("an operator's colour", () => {
  it.each(["#000000", "#ffffff", "#ffee00", "#ff6600", "#1f5fbf", "#808080", "#00ff88", "#1F2328"])(
    "%s is legible on both grounds, and so is text on it",
    (colour) => {
      const { dark, light } = accentsOf(colour, grounds)
      for (const [accent, ground] of [
        [light, grounds.light],
        [dark, grounds.dark]
      ] as const) {
        assert.isAtLeast(contrast(accent.strong, ground), 4.5)
        assert.isAtLeast(contrast(accent.strong, accent.onStrong), 4.5)
        assert.isAtLeast(contrast(accent.hover, accent.onStrong), 4.5)
      }
    }
  )

  it("stays as it is where it is legible", () => {
    assert.strictEqual(accentsOf("#1f5fbf", grounds).light.strong, "#1f5fbf")
  })
})
