type Rgb = readonly [number, number, number]

/** The colours of buttons and links in one colour scheme, as #rrggbb. */
export interface Accent {
  readonly strong: string
  readonly onStrong: string
  readonly hover: string
}

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]

/** WCAG 2.2, 1.4.3: text of normal size. A little more, because colours are rounded. */
const contrast = 4.6

const parsed = (text: string): Rgb => {
  const value = Number.parseInt(text.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}
const written = (rgb: Rgb) => `#${rgb.map((one) => Math.round(one).toString(16).padStart(2, "0")).join("")}`

const mixed = ([r, g, b]: Rgb, [x, y, z]: Rgb, share: number): Rgb => [
  r + (x - r) * share,
  g + (y - g) * share,
  b + (z - b) * share
]

/** WCAG 2.2: relative luminance. */
const luminance = ([r, g, b]: Rgb) => {
  const linear = (value: number) => (value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4)
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}
const ratio = (one: Rgb, other: Rgb) => {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

/** The colour that is nearest to `colour` and legible on `ground`, by mixing it with `towards`. */
const legible = (colour: Rgb, ground: Rgb, towards: Rgb): Rgb => {
  for (let share = 0; share < 1; share += 0.05) {
    const tried = mixed(colour, towards, share)
    if (ratio(tried, ground) >= contrast) return tried
  }
  return towards
}

const accentOn = (colour: string, ground: string, towards: Rgb): Accent => {
  const strong = legible(parsed(colour), parsed(ground), towards)
  return {
    strong: written(strong),
    onStrong: written(ratio(strong, white) >= ratio(strong, black) ? white : black),
    hover: written(mixed(strong, towards, 0.2))
  }
}

/** An operator's colour, made legible on a light and on a dark ground. All as #rrggbb. */
export const accentsOf = (colour: string, grounds: { readonly light: string; readonly dark: string }) => ({
  light: accentOn(colour, grounds.light, black),
  dark: accentOn(colour, grounds.dark, white)
})
