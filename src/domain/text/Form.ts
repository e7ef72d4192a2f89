import { isUtf8 } from "node:buffer"
import { JsonWriter } from "./JsonWriter.ts"

/** Tables of PostgreSQL have no more columns, and functions far fewer arguments. */
export const maxFields = 1600

const ampersand = 0x26
const equals = 0x3d
const percent = 0x25
const plus = 0x2b
const space = 0x20

/** The value of each hexadecimal digit; 255 for other bytes. */
const digits = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(value) ? 255 : value
})

/** A field's name and value, percent-decoded. */
interface Field {
  readonly name: string
  readonly value: Buffer
}

/**
 * Decodes an HTML form (`application/x-www-form-urlencoded`) in steps, so that other work can run between them. As in
 * HTML, a name without a value has an empty one.
 */
export class FormFields {
  /** Why the form is rejected: it has more than `maxFields` fields, or its percent-encoding is invalid. */
  problem: "many" | "encoding" | undefined
  readonly fields: Array<Field> = []
  private readonly bytes: Buffer
  private readonly end: number
  /** The bytes of all names and values, decoded. */
  private readonly decoded: Buffer
  private length = 0
  private at = 0
  /** The offsets in `decoded` of the name and the value; -1 before the first `=`. */
  private nameFrom = 0
  private valueFrom = -1
  /** The fields, and the places where one is missing. */
  private parts = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.decoded = Buffer.allocUnsafeSlow(bytes.length)
    let end = bytes.length
    while (end > 0 && (bytes[end - 1] ?? 0) <= space) end--
    this.end = end
    while (this.at < end && (bytes[this.at] ?? 0) <= space) this.at++
  }

  /** Reads about `size` bytes. Returns whether this was the last step. */
  step(size: number): boolean {
    const { bytes, decoded } = this
    const end = Math.min(this.end, this.at + size)
    while (this.at < end && this.problem === undefined) {
      const byte = bytes[this.at++] ?? 0
      if (byte === ampersand) this.close()
      else if (byte === equals && this.valueFrom < 0) this.valueFrom = this.length
      else if (byte === percent) this.escape()
      else decoded[this.length++] = byte === plus ? space : byte
    }
    if (this.problem !== undefined) return true
    if (this.at < this.end) return false
    this.close()
    return true
  }

  private escape() {
    const high = digits[this.at < this.end ? (this.bytes[this.at] ?? 0) : 0] ?? 255
    const low = digits[this.at + 1 < this.end ? (this.bytes[this.at + 1] ?? 0) : 0] ?? 255
    if (high > 15 || low > 15) this.problem = "encoding"
    this.decoded[this.length++] = high * 16 + low
    this.at += 2
  }

  private close() {
    const { decoded, length, nameFrom, valueFrom } = this
    if (length > nameFrom || valueFrom >= 0) {
      const name = decoded.subarray(nameFrom, valueFrom < 0 ? length : valueFrom)
      const value = decoded.subarray(valueFrom < 0 ? length : valueFrom, length)
      if (isUtf8(name) && isUtf8(value)) this.fields.push({ name: name.toString("utf8"), value })
      else this.problem = "encoding"
    }
    if (++this.parts > maxFields) this.problem ??= "many"
    this.nameFrom = length
    this.valueFrom = -1
  }
}

const quote = 0x22

/** Makes a JSON object of a form's fields in steps. Of several values of one name, the last applies. */
export class FormObject {
  private readonly out: JsonWriter
  private readonly fields: ReadonlyArray<readonly [name: string, value: Buffer]>
  private field = 0
  /** How much of the field's value is written. */
  private at = 0

  constructor(fields: ReadonlyArray<Field>) {
    this.fields = [...new Map(fields.map(({ name, value }) => [name, value]))]
    this.out = new JsonWriter(256 + fields.reduce((sum, { name, value }) => sum + 6 + name.length + value.length, 0))
  }

  /** Writes about `size` bytes of values. Returns whether this was the last step. */
  step(size: number): boolean {
    const { fields, out } = this
    let left = size
    for (; left > 0; this.field++) {
      const field = fields[this.field]
      if (field === undefined) {
        out.raw(Buffer.from(fields.length === 0 ? "{}" : "}"))
        return true
      }
      const [name, value] = field
      if (this.at === 0) out.raw(Buffer.from(`${this.field === 0 ? "{" : ","}${JSON.stringify(name)}:"`))
      const to = Math.min(value.length, this.at + left)
      out.text(value, this.at, to)
      left -= to - this.at + 1
      this.at = to
      if (to < value.length) return false
      out.byte(quote)
      this.at = 0
    }
    return false
  }

  get json(): Buffer {
    return this.out.written()
  }
}
