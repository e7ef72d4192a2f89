/** Columns of a row as PostgreSQL prints them; undefined: a large value that the statement did not change. */
export type LogTuple = ReadonlyArray<string | null | undefined>

/** A table as it was when the row was written. */
export interface LogRelation {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: number }>
}

type LogOperation = "INSERT" | "UPDATE" | "DELETE"

/** A message of the write-ahead log (pgoutput, version 1 of its protocol). `bytes` is its size. */
export type LogMessage =
  | { readonly _tag: "Begin"; readonly bytes: number; readonly lsn: bigint; readonly micros: number }
  | { readonly _tag: "Commit"; readonly bytes: number; readonly end: bigint }
  | { readonly _tag: "Relation"; readonly bytes: number; readonly relation: LogRelation }
  | {
      readonly _tag: "Change"
      readonly bytes: number
      readonly operation: LogOperation
      readonly oid: number
      readonly row: LogTuple | undefined
      readonly old: LogTuple | undefined
    }
  | { readonly _tag: "Truncate"; readonly bytes: number; readonly oids: ReadonlyArray<number> }

/** Microseconds from 1970 to 2000, from which PostgreSQL counts. */
const epoch = 946_684_800_000_000

class Bytes {
  private readonly data: Buffer
  private at = 1 // after the message's type

  constructor(data: Buffer) {
    this.data = data
  }

  skip(bytes: number) {
    this.at += bytes
  }

  byte() {
    return this.data.readUInt8(this.at++)
  }

  int16() {
    this.at += 2
    return this.data.readUInt16BE(this.at - 2)
  }

  oid() {
    this.at += 4
    return this.data.readUInt32BE(this.at - 4)
  }

  int64() {
    this.at += 8
    return this.data.readBigUInt64BE(this.at - 8)
  }

  text() {
    const end = this.data.indexOf(0, this.at)
    const text = this.data.toString("utf8", this.at, end)
    this.at = end + 1
    return text
  }

  tuple(): LogTuple {
    const columns: Array<string | null | undefined> = []
    for (let left = this.int16(); left > 0; left--) {
      const kind = this.byte()
      if (kind === 0x74) {
        const length = this.oid()
        columns.push(this.data.toString("utf8", this.at, this.at + length))
        this.at += length
      } else columns.push(kind === 0x6e ? null : undefined)
    }
    return columns
  }
}

/** Undefined for messages without rows: types, origins. Copies what it needs of the buffer. */
export const decodeLogMessage = (data: Buffer): LogMessage | undefined => {
  const from = new Bytes(data)
  const bytes = data.length
  switch (String.fromCharCode(data[0] ?? 0)) {
    case "B":
      return { _tag: "Begin", bytes, lsn: from.int64(), micros: Number(from.int64()) + epoch }
    case "C":
      from.skip(9)
      return { _tag: "Commit", bytes, end: from.int64() }
    case "R": {
      const [oid, schema, name] = [from.oid(), from.text(), from.text()]
      from.skip(1)
      const columns = Array.from({ length: from.int16() }, () => {
        from.skip(1)
        const column = { name: from.text(), type: from.oid() }
        from.skip(4)
        return column
      })
      return { _tag: "Relation", bytes, relation: { oid, schema: schema || "pg_catalog", name, columns } }
    }
    case "I": {
      const oid = from.oid()
      from.skip(1)
      return { _tag: "Change", bytes, operation: "INSERT", oid, row: from.tuple(), old: undefined }
    }
    case "U": {
      const oid = from.oid()
      let kind = from.byte()
      const old = kind === 0x4e ? undefined : from.tuple()
      if (kind !== 0x4e) kind = from.byte()
      return { _tag: "Change", bytes, operation: "UPDATE", oid, row: from.tuple(), old }
    }
    case "D": {
      const oid = from.oid()
      from.skip(1)
      return { _tag: "Change", bytes, operation: "DELETE", oid, row: undefined, old: from.tuple() }
    }
    case "T": {
      const count = from.oid()
      from.skip(1)
      return { _tag: "Truncate", bytes, oids: Array.from({ length: count }, () => from.oid()) }
    }
    default:
      return undefined
  }
}

/** A position in the log as PostgreSQL prints it. */
export const positionText = (lsn: bigint) =>
  `${(lsn >> 32n).toString(16)}/${(lsn & 0xffff_ffffn).toString(16)}`.toUpperCase()

/** 0 for a text that is no position. */
export const parsePosition = (text: string): bigint => {
  const found = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text)
  return found === null ? 0n : (BigInt(`0x${found[1]}`) << 32n) | BigInt(`0x${found[2]}`)
}
