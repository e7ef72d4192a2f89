/** Estimates for a table. */
export interface DumpWasmTable {
  readonly bytes: number
  /** 0 or less when PostgreSQL has no estimate. */
  readonly rows: number
}

/** Progress by `tableKey`, or `largeObjects`. */
export type DumpWasmTables = ReadonlyMap<string, DumpWasmTable>

export const tableKey = (schema: string, table: string) => `${schema}\0${table}`
export const largeObjects = ""

/** Fractions for the work before the first table, and after the last. */
const before = 0.02
const after = 0.01

const name = /"(?:[^"]|"")*"|[^\s".(]+/.source
const copyOf = new RegExp(`^COPY (${name})\\.(${name}) `)
const unquoted = (name: string) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)

const [query, functionCall] = ["Q".charCodeAt(0), "F".charCodeAt(0)]

/** The progress of a dump, by the queries of pg_dump. Tables are weighted by their size. */
export class DumpWasmProgress {
  readonly #tables: DumpWasmTables
  readonly #total: number
  #ended = 0
  #key: string | undefined
  #table: DumpWasmTable = { bytes: 0, rows: 0 }
  #rowsBefore = 0
  #bytesBefore = 0

  constructor(tables: DumpWasmTables) {
    this.#tables = tables
    this.#total = [...tables.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Reads a message of pg_dump; `rows` and `bytes` are those received so far. */
  sent(message: Buffer, rows: number, bytes: number): void {
    if (message[0] === functionCall) this.#begin(largeObjects, rows, bytes)
    if (message[0] !== query) return
    const [, schema, table] = copyOf.exec(message.toString("utf8", 5, 1024)) ?? []
    if (schema !== undefined && table !== undefined) {
      this.#begin(tableKey(unquoted(schema), unquoted(table)), rows, bytes)
    }
  }

  /** 0–1, less than 1 until the end. */
  fraction(rows: number, bytes: number): number {
    if (this.#total === 0) return this.#key === undefined ? 0 : before
    const { bytes: size, rows: count } = this.#table
    const share = count > 0 ? (rows - this.#rowsBefore) / count : (bytes - this.#bytesBefore) / Math.max(size, 1)
    const data = (this.#ended + size * Math.min(share, 1)) / this.#total
    return this.#key === undefined ? 0 : before + (1 - before - after) * Math.min(data, 1)
  }

  #begin(key: string, rows: number, bytes: number): void {
    if (key === this.#key) return
    this.#ended += this.#table.bytes
    this.#key = key
    this.#table = this.#tables.get(key) ?? { bytes: 0, rows: 0 }
    this.#rowsBefore = rows
    this.#bytesBefore = bytes
  }
}
