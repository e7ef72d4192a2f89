import { type TextRow } from "./MessageReader.ts"

const initialSize = 16 * 1024
/** A larger buffer is not kept after it was sent. */
const keptSize = 1024 * 1024
/** A longer text is measured before it is written; a shorter one reserves three bytes for each UTF-16 unit. */
const measuredLength = 4096

/**
 * Collects messages of PostgreSQL's frontend/backend protocol 3.0 (PostgreSQL documentation, chapter "Message Formats"), and
 * gives them as the bytes of one write. Values are in text format.
 */
export class MessageWriter {
  private buffer = Buffer.allocUnsafeSlow(initialSize)
  private end = 0

  get empty(): boolean {
    return this.end === 0
  }

  /** Parse: prepares a statement under a name; PostgreSQL infers the types of its parameters. */
  parse(name: string, text: string): void {
    const start = this.begin(0x50)
    this.cString(name)
    this.cString(text)
    this.reserve(2)
    this.end = this.buffer.writeInt16BE(0, this.end)
    this.finish(start)
  }

  /** Bind of the unnamed portal, and Execute of it to the end. */
  run(name: string, params: TextRow): void {
    const start = this.begin(0x42)
    this.reserve(1)
    this.buffer[this.end++] = 0
    this.cString(name)
    this.values(params)
    this.reserve(2 + execute.length)
    this.end = this.buffer.writeInt16BE(0, this.end)
    this.finish(start)
    this.buffer.set(execute, this.end)
    this.end += execute.length
  }

  /** Close of a prepared statement. */
  closeStatement(name: string): void {
    const start = this.begin(0x43)
    this.reserve(1)
    this.buffer[this.end++] = 0x53
    this.cString(name)
    this.finish(start)
  }

  sync(): void {
    this.reserve(sync.length)
    this.buffer.set(sync, this.end)
    this.end += sync.length
  }

  /** FunctionCall: a function by its oid, as a transaction of its own. */
  call(oid: number, params: TextRow): void {
    const start = this.begin(0x46)
    this.reserve(4)
    this.end = this.buffer.writeUInt32BE(oid, this.end)
    this.values(params)
    this.reserve(2)
    this.end = this.buffer.writeInt16BE(0, this.end)
    this.finish(start)
  }

  /** All messages since the last call. */
  take(): Buffer {
    // Copied, because the socket may keep it until it is writable again.
    const bytes = Buffer.from(this.buffer.subarray(0, this.end))
    this.end = 0
    if (this.buffer.length > keptSize) this.buffer = Buffer.allocUnsafeSlow(initialSize)
    return bytes
  }

  private begin(type: number) {
    this.reserve(5)
    this.buffer[this.end] = type
    this.end += 5
    return this.end - 4
  }

  /** Fills in the length of the message whose length field is at `start`. */
  private finish(start: number) {
    this.buffer.writeInt32BE(this.end - start, start)
  }

  /** Parameter values, all in text format. */
  private values(params: TextRow) {
    this.reserve(4)
    this.end = this.buffer.writeInt32BE(params.length, this.end)
    for (const param of params) {
      this.reserve(4)
      const at = this.end
      this.end += 4
      if (param === null) this.buffer.writeInt32BE(-1, at)
      else {
        this.text(param)
        this.buffer.writeInt32BE(this.end - at - 4, at)
      }
    }
  }

  private text(value: string) {
    this.reserve(value.length > measuredLength ? Buffer.byteLength(value) : value.length * 3)
    this.end += this.buffer.write(value, this.end)
  }

  private cString(value: string) {
    this.text(value)
    this.reserve(1)
    this.buffer[this.end++] = 0
  }

  private reserve(bytes: number) {
    const needed = this.end + bytes
    if (needed <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.end)
    this.buffer = larger
  }
}

/** Execute of the unnamed portal without a row limit. */
const execute = Uint8Array.of(0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0)
const sync = Uint8Array.of(0x53, 0, 0, 0, 4)
