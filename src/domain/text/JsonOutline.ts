import { JsonScanner } from "./JsonScanner.ts"

/** The most distinct names that are kept. No table of PostgreSQL has as many columns, no function as many arguments. */
const maxKeys = 1601
/** The most rows whose places are kept. */
export const maxPlaces = 30_000

/** A row of the text: bytes `from` to `to` (exclusive), and the distinct names of an object. */
export interface JsonPlace {
  readonly from: number
  readonly to: number
  readonly keys: ReadonlyArray<string>
}

/** A longer name is cut; PostgreSQL's have 63 bytes. */
const maxNameSize = 1024
/** Up to this number, names are searched in a list, which is quicker than making a map. */
const fewKeys = 16
const none: ReadonlyArray<string> = []

/**
 * Validates a JSON text in steps (`JsonScanner`), and finds what planning needs. Its rows are the elements of an array, or
 * else the whole value. `only`: the names to consider.
 */
export class JsonOutline {
  readonly bytes: Buffer
  readonly texts: boolean
  /** The number of rows. */
  rows = 0
  /** All rows are objects. */
  objects = true
  /** The distinct names in all rows, as they first occur. */
  readonly keys: Array<string> = []
  /** There are more names than are kept. */
  more = false
  /** The first `maxPlaces` rows. */
  readonly places: Array<JsonPlace> = []
  private readonly scanner: JsonScanner
  private readonly only: ReadonlySet<string> | undefined
  /** The number of each name, once there are many. */
  private ids: Map<string, number> | undefined
  /** The row in which each name was last found. */
  private readonly foundIn: Array<number> = []
  private fewest = Infinity

  /** The names of the last row that differed from the one before: their bytes, in pairs, and their ids; -1 if ignored. */
  private readonly lastPlaces: Array<number> = []
  private readonly lastIds: Array<number> = []
  private lastKeys = none
  private firstRow: Buffer | undefined
  private rowFrom = 0
  private isObject = false
  private names = 0
  /** The names of this row, once they are not those of the last one. */
  private own: Array<string> | undefined

  /** `texts`: made of a format that has only texts, CSV or a form. */
  constructor(bytes: Buffer, only?: ReadonlySet<string>, texts = false) {
    this.bytes = bytes
    this.only = only
    this.texts = texts
    this.scanner = new JsonScanner(bytes, this)
  }

  /** Reads at most `size` bytes. Returns whether this was the last step. */
  step(size: number): boolean {
    return this.scanner.step(size)
  }

  /** Why the text is rejected: `deep` is beyond `maxJsonDepth`. */
  get problem() {
    return this.scanner.problem
  }

  get form() {
    return this.scanner.form
  }

  /** The first row: PostgREST takes it for the whole of an array where there can be one only. Without rows, the whole text. */
  get first(): Buffer {
    const [place] = this.places
    this.firstRow ??= place === undefined ? this.bytes : this.bytes.subarray(place.from, place.to)
    return this.firstRow
  }

  /** All rows are objects with the same names. */
  get uniform() {
    return this.objects && !this.more && (this.rows === 0 || this.fewest === this.keys.length)
  }

  open(at: number, isObject: boolean) {
    this.rowFrom = at
    this.isObject = isObject
    this.names = 0
    this.own = undefined
  }

  name(from: number, to: number, escaped: boolean) {
    if (this.more) return
    const at = this.names++
    if (this.own === undefined) {
      if (this.isLast(at, from, to)) return
      this.differ(at)
    }
    const id = this.idOf(from, to, escaped)
    if (at < maxKeys) {
      this.lastPlaces.push(from, to)
      this.lastIds.push(id)
    }
    this.add(id)
  }

  close(to: number) {
    if (this.own === undefined && this.names < this.lastIds.length) this.differ(this.names)
    if (this.own !== undefined) this.lastKeys = this.own
    const keys = this.isObject ? this.lastKeys : none
    this.objects &&= this.isObject
    this.fewest = Math.min(this.fewest, keys.length)
    this.rows++
    if (this.places.length < maxPlaces) this.places.push({ from: this.rowFrom, to, keys })
  }

  /** Whether this name is written as the one at the same place in the last row. */
  private isLast(at: number, from: number, to: number) {
    const { bytes, lastPlaces } = this
    const start = lastPlaces[2 * at]
    if (start === undefined || (lastPlaces[2 * at + 1] ?? 0) - start !== to - from) return false
    for (let i = to - from - 1; i >= 0; i--) if (bytes[from + i] !== bytes[start + i]) return false
    return true
  }

  /** This row has only its first `same` names from the last one. */
  private differ(same: number) {
    this.own = []
    this.lastPlaces.length = 2 * same
    this.lastIds.length = same
    for (const id of this.lastIds) this.add(id)
  }

  private add(id: number) {
    if (id < 0 || this.foundIn[id] === this.rows) return
    this.foundIn[id] = this.rows
    this.own?.push(this.keys[id] ?? "")
  }

  private idOf(from: number, to: number, escaped: boolean) {
    const { keys } = this
    const long = to - from > maxNameSize
    const text = textOf(this.bytes, from, long ? from + maxNameSize : to)
    const name = escaped && !long ? (JSON.parse(`"${text}"`) as string) : text
    if (this.only !== undefined && !this.only.has(name)) return -1
    if (this.ids === undefined && keys.length > fewKeys) this.ids = new Map(keys.map((key, id) => [key, id]))
    const known = this.ids === undefined ? keys.indexOf(name) : (this.ids.get(name) ?? -1)
    if (known >= 0) return known
    if (keys.length === maxKeys) {
      this.more = true
      return -1
    }
    this.ids?.set(name, keys.length)
    return keys.push(name) - 1
  }
}

/** Short texts of ASCII, as most names are, take a third of the time of `toString`. */
const textOf = (bytes: Buffer, from: number, to: number) => {
  if (to - from > 24) return bytes.toString("utf8", from, to)
  let text = ""
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    if (byte > 127) return bytes.toString("utf8", from, to)
    text += String.fromCharCode(byte)
  }
  return text
}
