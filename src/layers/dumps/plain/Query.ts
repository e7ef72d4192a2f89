import { once } from "node:events"
import { type Connection } from "pg"
import { InFlightQuery } from "../../postgres/sql/InFlightQuery.ts"

/** A message of the protocol's: its kind, and its length without the kind. */
const header = (kind: string, size: number) => {
  const bytes = Buffer.alloc(5)
  bytes.write(kind, "latin1")
  bytes.writeUInt32BE(size + 4, 1)
  return bytes
}

const end = Buffer.alloc(1)
const copyDone = header("c", 0)

/**
 * One statement by the simple protocol, in the bytes it has, with the rows that it may ask for: PostgreSQL says whether
 * it does, as it does to psql. pg's own query and pg-copy-streams take text, which a dump in another encoding is not.
 */
export class PlainRestoreQuery extends InFlightQuery<true> {
  /** Whether it waits for rows; false when it has ended. Fails as it does. */
  readonly wantsRows: Promise<boolean>
  private readonly finished: Promise<void>
  private readonly parts: ReadonlyArray<Buffer>
  private readonly size: number
  private readonly asked: () => void
  private connection: Connection | undefined
  private over = false

  constructor(parts: ReadonlyArray<Buffer>, size: number) {
    const ended = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<boolean>()
    super((_, failure) => {
      this.over = true
      if (failure === undefined) ended.resolve()
      else ended.reject(failure)
    })
    this.parts = parts
    this.size = size
    this.finished = ended.promise
    this.asked = () => asked.resolve(true)
    this.wantsRows = Promise.race([asked.promise, ended.promise.then(() => false)])
    // Whoever was waiting may have left.
    for (const promise of [this.finished, this.wantsRows]) promise.catch(() => undefined)
  }

  submit(connection: Connection) {
    this.connection = connection
    this.together(connection, () => {
      connection.stream.write(header("Q", this.size + 1))
      for (const part of this.parts) connection.stream.write(part)
      connection.stream.write(end)
    })
  }

  override handleCopyInResponse() {
    this.asked()
  }

  /** Sends some of the rows; undefined when there is room for more. Fails as the statement does. */
  rows(bytes: Buffer): Promise<void> | undefined {
    const { connection } = this
    if (this.over || connection === undefined) return this.finished
    let room = true
    this.together(connection, () => {
      connection.stream.write(header("d", bytes.length))
      room = connection.stream.write(bytes)
    })
    return room ? undefined : Promise.race([once(connection.stream, "drain").then(() => undefined), this.finished])
  }

  /** There are no more rows. */
  rowsEnd(): Promise<void> {
    if (!this.over) this.connection?.stream.write(copyDone)
    return this.finished
  }

  protected override sync() {}

  protected result(): true {
    return true
  }
}
