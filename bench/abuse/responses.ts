/** The responses on a connection of HTTP/1.1. */

export interface Response {
  /** Of the request; empty if the server did not wait for one. */
  readonly method: string
  readonly status: number
  /** Status line and headers, as sent. */
  readonly head: string
  /** Bytes of the body. */
  readonly size: number
  /** The first 64 KiB of an error's body; empty for other responses. */
  readonly body: string
}

/** Bytes of an error's body that are kept. */
export const keptBytes = 64 * 1024
const noBytes: Buffer = Buffer.alloc(0)

/** Where the reader is: in a head, in a body of known length, in the parts of a chunked one, or in one that ends with the connection. */
type Place = "head" | "length" | "chunkSize" | "chunk" | "chunkEnd" | "trailer" | "untilClose"

/** Splits the bytes of a connection into responses. It keeps no body but an error's, so that large ones cost little. */
export class ResponseReader {
  private readonly done: (response: Response) => void
  /** The methods of the requests without a response. */
  private readonly methods: Array<string> = []
  private pending = noBytes
  private place: Place = "head"
  private method = ""
  private head = ""
  private status = 0
  private left = 0
  private size = 0
  private kept: Array<Buffer> = []

  constructor(done: (response: Response) => void) {
    this.done = done
  }

  /** Must precede the response to each request. */
  expect(method: string) {
    this.methods.push(method)
  }

  push(chunk: Buffer) {
    const bytes = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    this.pending = noBytes
    let at = 0
    while (at < bytes.length) {
      const next = this.step(bytes, at)
      if (next === undefined) {
        this.pending = bytes.subarray(at)
        return
      }
      at = next
    }
  }

  /** The connection has ended. */
  end() {
    if (this.place === "untilClose") this.finish()
  }

  /** Returns the position behind what it has read, or undefined if more bytes are needed. */
  private step(bytes: Buffer, at: number): number | undefined {
    switch (this.place) {
      case "head": {
        const end = bytes.indexOf("\r\n\r\n", at)
        if (end < 0) return undefined
        this.begin(bytes.toString("latin1", at, end))
        return end + 4
      }
      case "chunkSize": {
        const end = bytes.indexOf("\r\n", at)
        if (end < 0) return undefined
        this.left = Number.parseInt(bytes.toString("latin1", at, end), 16)
        this.place = this.left === 0 ? "trailer" : "chunk"
        return end + 2
      }
      case "chunkEnd":
        if (bytes.length < at + 2) return undefined
        this.place = "chunkSize"
        return at + 2
      case "trailer": {
        const end = bytes.indexOf("\r\n", at)
        if (end < 0) return undefined
        if (end === at) this.finish()
        return end + 2
      }
      default:
        return this.take(bytes, at)
    }
  }

  private begin(head: string) {
    this.head = head
    this.status = Number(head.slice(9, 12))
    this.size = 0
    this.kept = []
    if (this.status < 200 && this.status !== 101) return
    this.method = this.methods.shift() ?? ""
    const withoutBody = this.method === "HEAD" || [101, 204, 304].includes(this.status)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (withoutBody || length === "0") this.finish()
    else if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.place = "chunkSize"
    else if (length === undefined) this.place = "untilClose"
    else {
      this.left = Number(length)
      this.place = "length"
    }
  }

  private take(bytes: Buffer, at: number) {
    const end = this.place === "untilClose" ? bytes.length : Math.min(bytes.length, at + this.left)
    if (this.status >= 400 && this.size < keptBytes) this.kept.push(Buffer.from(bytes.subarray(at, end)))
    this.size += end - at
    if (this.place === "untilClose") return end
    this.left -= end - at
    if (this.left === 0) {
      if (this.place === "chunk") this.place = "chunkEnd"
      else this.finish()
    }
    return end
  }

  private finish() {
    this.place = "head"
    const { head, kept, method, size, status } = this
    this.done({ method, status, head, size, body: Buffer.concat(kept).toString("utf8", 0, keptBytes) })
  }
}
