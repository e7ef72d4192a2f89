/**
 * QR codes (ISO/IEC 18004) of bytes with error correction M, up to version 16, which is enough for the URI of an
 * authenticator app. Rows of modules; true is dark.
 */
export type QrCode = ReadonlyArray<ReadonlyArray<boolean>>

/** Of each version from 1: error correction codewords of a block, and the number of blocks (ISO/IEC 18004, table 9). */
const blocksOf: ReadonlyArray<readonly [number, number]> = [
  [10, 1],
  [16, 1],
  [26, 1],
  [18, 2],
  [24, 2],
  [16, 4],
  [18, 4],
  [22, 4],
  [22, 5],
  [26, 5],
  [30, 5],
  [22, 8],
  [22, 9],
  [24, 9],
  [24, 10],
  [28, 10]
]

/** Modules that are not part of a function pattern. */
const rawModules = (version: number) => {
  const alignments = version === 1 ? 0 : Math.floor(version / 7) + 2
  const base = (16 * version + 128) * version + 64
  return base - (version === 1 ? 0 : (25 * alignments - 10) * alignments - 55) - (version < 7 ? 0 : 36)
}

const alignmentsOf = (version: number): ReadonlyArray<number> => {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2
  return [6, ...Array.from({ length: count - 1 }, (_, index) => version * 4 + 10 - step * (count - 2 - index))]
}

/** Multiplication in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1. */
const times = (x: number, y: number) => {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((y >>> bit) & 1) * x)
  return product
}

/** The remainder of Reed and Solomon's code. */
const correctionOf = (data: ReadonlyArray<number>, degree: number): ReadonlyArray<number> => {
  const divisor = Array.from({ length: degree }, (_, index): number => (index === degree - 1 ? 1 : 0))
  let root = 1
  for (let turn = 0; turn < degree; turn++, root = times(root, 2)) {
    for (let index = 0; index < degree; index++) {
      divisor[index] = times(divisor[index] ?? 0, root) ^ (divisor[index + 1] ?? 0)
    }
  }
  const rest = divisor.map(() => 0)
  for (const byte of data) {
    const factor = byte ^ (rest.shift() ?? 0)
    rest.push(0)
    for (const [index, coefficient] of divisor.entries()) rest[index] = (rest[index] ?? 0) ^ times(coefficient, factor)
  }
  return rest
}

/** The codewords of a text, in blocks with their correction, interleaved. */
const codewordsOf = (bytes: Uint8Array, version: number, dataLength: number): ReadonlyArray<number> => {
  const length = version < 10 ? 8 : 16
  const bits = [`0100`, bytes.length.toString(2).padStart(length, "0")]
  for (const byte of bytes) bits.push(byte.toString(2).padStart(8, "0"))
  const text = bits.join("").padEnd(Math.min(dataLength * 8, 4 + length + bytes.length * 8 + 4), "0")
  const data = (text.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, "0"), 2))
  for (let pad = 0xec; data.length < dataLength; pad ^= 0xec ^ 0x11) data.push(pad)

  const [correction, count] = blocksOf[version - 1] ?? [0, 1]
  const short = Math.floor(dataLength / count)
  const long = dataLength % count
  const blocks: Array<ReadonlyArray<number>> = []
  for (let at = 0, index = 0; index < count; index++) {
    const size = short + (index >= count - long ? 1 : 0)
    blocks.push(data.slice(at, (at += size)))
  }
  const corrections = blocks.map((block) => correctionOf(block, correction))
  const interleaved = (all: ReadonlyArray<ReadonlyArray<number>>, size: number) =>
    Array.from({ length: size }, (_, index) => all.flatMap((block) => block[index] ?? [])).flat()
  return [...interleaved(blocks, short + 1), ...interleaved(corrections, correction)]
}

/** The remainder of a BCH code, appended to its value. */
const withRemainder = (value: number, generator: number, degree: number) => {
  let rest = value
  for (let turn = 0; turn < degree; turn++) rest = (rest << 1) ^ ((rest >>> (degree - 1)) * generator)
  return (value << degree) | rest
}

/** Whether a module is inverted, so that no large areas have one colour. */
const masks: ReadonlyArray<(x: number, y: number) => boolean> = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0
]

/** How hard a code is to read: long runs of one colour, and rows that look like the finder pattern. */
const penaltyOf = (modules: QrCode) => {
  const lines = [...modules, ...modules.map((_, x) => modules.map((row) => row[x] ?? false))]
  let penalty = 0
  for (const line of lines) {
    const text = line.map((dark) => (dark ? "1" : "0")).join("")
    for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2
    for (const _ of text.matchAll(/(?=00001011101|10111010000)/g)) penalty += 40
  }
  return penalty
}

/** Undefined if the text is too long. */
export const qrCodeOf = (text: string): QrCode | undefined => {
  const bytes = new TextEncoder().encode(text)
  const room = (version: number) => {
    const [correction, count] = blocksOf[version - 1] ?? [0, 1]
    return Math.floor(rawModules(version) / 8) - correction * count
  }
  const version = blocksOf.findIndex((_, index) => bytes.length + (index < 9 ? 2 : 3) <= room(index + 1)) + 1
  if (version === 0) return undefined
  const size = version * 4 + 17

  // null: part of no function pattern.
  const grid: Array<Array<boolean | null>> = Array.from({ length: size }, () =>
    Array.from({ length: size }, () => null)
  )
  const set = (x: number, y: number, dark: boolean) => {
    if (x >= 0 && y >= 0 && x < size && y < size) grid[y]![x] = dark
  }
  const square = (x: number, y: number, radius: number, dark: (distance: number) => boolean) => {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) set(x + dx, y + dy, dark(Math.max(Math.abs(dx), Math.abs(dy))))
    }
  }
  for (let index = 0; index < size; index++) {
    set(6, index, index % 2 === 0)
    set(index, 6, index % 2 === 0)
  }
  const far = size - 4
  for (const [x, y] of [
    [3, 3],
    [far, 3],
    [3, far]
  ] as const) {
    square(x, y, 4, (distance) => distance !== 2 && distance !== 4)
  }
  const alignments = alignmentsOf(version)
  for (const x of alignments) {
    for (const y of alignments) {
      const finder = (x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6)
      if (!finder) square(x, y, 2, (distance) => distance !== 1)
    }
  }
  if (version >= 7) {
    const bits = withRemainder(version, 0x1f25, 12)
    for (let index = 0; index < 18; index++) {
      const [a, b] = [size - 11 + (index % 3), Math.floor(index / 3)]
      set(a, b, ((bits >>> index) & 1) === 1)
      set(b, a, ((bits >>> index) & 1) === 1)
    }
  }
  const format = (mask: number) => {
    // 0: error correction M.
    const bits = withRemainder(mask, 0x537, 10) ^ 0x5412
    const bit = (index: number) => ((bits >>> index) & 1) === 1
    for (let index = 0; index < 6; index++) set(8, index, bit(index))
    set(8, 7, bit(6))
    set(8, 8, bit(7))
    set(7, 8, bit(8))
    for (let index = 9; index < 15; index++) set(14 - index, 8, bit(index))
    for (let index = 0; index < 8; index++) set(size - 1 - index, 8, bit(index))
    for (let index = 8; index < 15; index++) set(8, size - 15 + index, bit(index))
    set(8, size - 8, true)
  }
  format(0)

  // The data goes up and down in columns of two, from the right, around the vertical timing pattern.
  const free: Array<readonly [number, number]> = []
  for (let right = size - 1, up = true; right > 0; right -= right === 8 ? 3 : 2, up = !up) {
    for (let turn = 0; turn < size; turn++) {
      const y = up ? size - 1 - turn : turn
      for (const x of [right, right - 1]) if (grid[y]![x] === null) free.push([x, y])
    }
  }
  const codewords = codewordsOf(bytes, version, room(version))
  const written = masks.map((inverts, mask) => {
    format(mask)
    for (const [index, [x, y]] of free.entries()) {
      const dark = (((codewords[index >>> 3] ?? 0) >>> (7 - (index & 7))) & 1) === 1
      grid[y]![x] = dark !== inverts(x, y)
    }
    return grid.map((row) => row.map((dark) => dark === true))
  })
  return written.reduce((best, one) => (penaltyOf(one) < penaltyOf(best) ? one : best))
}

/** The path of an SVG of `size` + 8 units, with the quiet zone of 4 modules. */
export const qrPath = (code: QrCode): string =>
  code.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : []))).join("")
