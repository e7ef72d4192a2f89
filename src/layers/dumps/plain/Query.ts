import { type Connection } from "pg"
import { InFlightQuery } from "../../postgres/sql/InFlightQuery.ts"

/** Header of a protocol message: its type, and its length without the type. */
const header = (kind: string, size: number) => {
  const bytes = Buffer.alloc(5)
  bytes.write(kind, "latin1")
  bytes.writeUInt32BE(size + 4, 1)
  return bytes
}

const end = Buffer.alloc(1)
const copyDone = header("c", 0)

/**
 * One statement by the simple query protocol, as bytes, with the rows that COPY FROM STDIN requests. pg's own query and
 * pg-copy-streams need text, and a dump may be in another encoding.
 */
export class PlainRestoreQuery extends InFlightQuery<true> {
  /** True when the statement requests rows, false when it has ended; rejects when it fails. */
  readonly wantsRows: Promise<boolean>
  private readonly finished: Promise<void>
  private readonly parts: ReadonlyArray<Buffer>
  private readonly size: number
  private readonly requestRows: () => void
  private connection: Connection | undefined
  private isEnded = false
  /** Ends the wait for space in the connection's buffer. */
  private resume: (() => void) | undefined

  constructor(parts: ReadonlyArray<Buffer>, size: number) {
    const ended = Promise.withResolvers<void>()
    const requested = Promise.withResolvers<boolean>()
    super((_, failure) => {
      this.isEnded = true
      if (failure === undefined) ended.resolve()
      else ended.reject(failure)
      this.resume?.()
    })
    this.parts = parts
    this.size = size
    this.finished = ended.promise
    this.requestRows = () => requested.resolve(true)
    this.wantsRows = Promise.race([requested.promise, ended.promise.then(() => false)])
    // A rejection without a handler would end the process.
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
    this.requestRows()
  }

  /** Sends some of the rows; undefined when the buffer is not full. Rejects when the statement fails. */
  rows(bytes: Buffer): Promise<void> | undefined {
    const { connection } = this
    if (this.isEnded || connection === undefined) return this.finished
    const writable = this.together(connection, () => {
      connection.stream.write(header("d", bytes.length))
      connection.stream.write(bytes)
    })
    if (writable) return undefined
    // Promise.race would leave a reaction on `finished` for each wait, as many as a large table has.
    return new Promise<void>((resolve) => {
      this.resume = () => {
        connection.stream.off("drain", resolve)
        resolve()
      }
      connection.stream.once("drain", resolve)
    }).then(() => (this.isEnded ? this.finished : undefined))
  }

  /** Ends the rows. */
  endRows(): Promise<void> {
    if (!this.isEnded) this.connection?.stream.write(copyDone)
    return this.finished
  }

  protected override sync() {}

  protected result(): true {
    return true
  }
}
