/** A parameter's value as text, as the bytes of its text, or NULL. */
export type Param = string | Uint8Array | null

const initialSize = 16 * 1024
/** A larger buffer is not kept after it was sent. */
const keptSize = 1024 * 1024
/** A longer text is measured before it is written; a shorter one reserves three bytes for each UTF-16 unit. */
const measuredLength = 4096
/** Longer bytes are not copied. */
const copiedLength = 64 * 1024

/**
 * Collects messages of PostgreSQL's frontend/backend protocol 3.0 (PostgreSQL documentation, chapter "Message Formats").
 * Values are in text format.
 */
export class MessageWriter {
  private buffer = Buffer.allocUnsafeSlow(initialSize)
  private end = 0
  /** Long values, and where in the buffer they belong. */
  private inserted: Array<{ readonly at: number; readonly bytes: Uint8Array }> = []
  private insertedLength = 0
  /** Their length before the message that was begun. */
  private insertedBefore = 0

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
  run(name: string, params: ReadonlyArray<Param>): void {
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
  call(oid: number, params: ReadonlyArray<Param>): void {
    const start = this.begin(0x46)
    this.reserve(4)
    this.end = this.buffer.writeUInt32BE(oid, this.end)
    this.values(params)
    this.reserve(2)
    this.end = this.buffer.writeInt16BE(0, this.end)
    this.finish(start)
  }

  /** All messages since the last call, in parts to be sent in order. */
  take(): ReadonlyArray<Uint8Array> {
    // Copied, because the socket may keep it until it is writable again.
    const copy = Buffer.from(this.buffer.subarray(0, this.end))
    const parts: Array<Uint8Array> = []
    let from = 0
    for (const { at, bytes } of this.inserted) {
      parts.push(copy.subarray(from, at), bytes)
      from = at
    }
    parts.push(copy.subarray(from))
    this.end = 0
    if (this.insertedLength > 0) {
      this.inserted = []
      this.insertedLength = 0
    }
    if (this.buffer.length > keptSize) this.buffer = Buffer.allocUnsafeSlow(initialSize)
    return parts
  }

  private begin(type: number) {
    this.reserve(5)
    this.buffer[this.end] = type
    this.end += 5
    this.insertedBefore = this.insertedLength
    return this.end - 4
  }

  /** Fills in the length of the message whose length field is at `start`. */
  private finish(start: number) {
    this.buffer.writeInt32BE(this.end - start + this.insertedLength - this.insertedBefore, start)
  }

  /** Parameter values, all in text format. */
  private values(params: ReadonlyArray<Param>) {
    this.reserve(4)
    this.end = this.buffer.writeInt32BE(params.length, this.end)
    for (const param of params) {
      this.reserve(4)
      const at = this.end
      this.end += 4
      if (param === null) this.buffer.writeInt32BE(-1, at)
      else if (typeof param !== "string") {
        this.buffer.writeInt32BE(param.length, at)
        this.bytes(param)
      } else {
        this.text(param)
        this.buffer.writeInt32BE(this.end - at - 4, at)
      }
    }
  }

  private bytes(value: Uint8Array) {
    if (value.length > copiedLength) {
      this.inserted.push({ at: this.end, bytes: value })
      this.insertedLength += value.length
    } else {
      this.reserve(value.length)
      this.buffer.set(value, this.end)
      this.end += value.length
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
