/**
 * A minimal HTTP client: writes requests that were prepared in advance and compares responses as they arrive. It costs a
 * tenth of node:http's client, so that the server dominates the measurement.
 */
import { connect, type Socket } from "node:net"

export interface Question {
  /** The request line and headers, with the final empty line. */
  readonly head: string
  readonly body?: Uint8Array | undefined
  /** The expected body. Without it the body is returned. */
  readonly wanted?: Buffer | undefined
}

export interface Answer {
  readonly status: number
  readonly head: string
  /** Empty if it was compared. */
  readonly body: Buffer
  /** Whether the body equals `wanted`. */
  readonly same: boolean
}

interface Current {
  readonly question: Question
  readonly call: PromiseWithResolvers<Answer>
  head: string
  /** The length of the body, once the head has arrived. */
  length: number
  received: number
  same: boolean
  readonly parts: Array<Buffer>
}

const empty = Buffer.alloc(0)

/** A persistent connection with one request at a time. */
export class Wire {
  private readonly socket: Socket
  private current: Current | undefined
  private early = empty

  constructor(origin: string) {
    const { hostname, port } = new URL(origin)
    const onread = {
      buffer: Buffer.allocUnsafe(256 * 1024),
      callback: (length: number, buffer: Uint8Array) => {
        this.receive(buffer as Buffer, length)
        return true
      }
    }
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true, onread })
    this.socket.on("error", (cause) => this.fail(cause))
    this.socket.on("close", () => this.fail(new Error("The connection was closed")))
  }

  ask(question: Question): Promise<Answer> {
    const call = Promise.withResolvers<Answer>()
    this.current = { question, call, head: "", length: -1, received: 0, same: true, parts: [] }
    this.socket.cork()
    this.socket.write(question.head, "latin1")
    if (question.body !== undefined) this.socket.write(question.body)
    this.socket.uncork()
    return call.promise
  }

  end() {
    this.socket.destroy()
  }

  private receive(buffer: Buffer, length: number) {
    const { current } = this
    if (current === undefined) return this.socket.destroy()
    const bytes = buffer.subarray(0, length)
    if (current.length >= 0) return this.take(current, bytes)
    const all = this.early.length === 0 ? bytes : Buffer.concat([this.early, bytes])
    const end = all.indexOf("\r\n\r\n")
    if (end < 0) return (this.early = Buffer.from(all))
    this.early = empty
    current.head = all.toString("latin1", 0, end)
    const announced = /\r\ncontent-length: *(\d+)/i.exec(current.head)?.[1]
    if (announced === undefined) return this.socket.destroy(new Error(`No Content-Length: ${current.head}`))
    current.length = Number(announced)
    return this.take(current, all.subarray(end + 4))
  }

  private take(current: Current, bytes: Buffer) {
    const { wanted } = current.question
    const { length, parts, received } = current
    if (wanted === undefined) parts.push(Buffer.from(bytes))
    else current.same &&= wanted.compare(bytes, 0, bytes.length, received, received + bytes.length) === 0
    current.received += bytes.length
    if (current.received < length) return
    this.current = undefined
    current.call.resolve({
      status: Number(current.head.slice(9, 12)),
      head: current.head,
      body: Buffer.concat(parts),
      same: current.same && (wanted === undefined || length === wanted.length)
    })
  }

  private fail(cause: Error) {
    this.current?.call.reject(cause)
    this.current = undefined
  }
}

/** Sends all requests over these connections; returns the durations in ms, in order of completion. */
export const askAll = async (
  wires: ReadonlyArray<Wire>,
  questions: ReadonlyArray<Question>,
  judge: (answer: Answer, index: number) => void
) => {
  const took = new Float32Array(questions.length)
  let next = 0
  let answered = 0
  const loop = async (wire: Wire) => {
    for (let index = next++; index < questions.length; index = next++) {
      const question = questions[index]
      if (question === undefined) return
      const started = performance.now()
      const answer = await wire.ask(question)
      took[answered++] = performance.now() - started
      judge(answer, index)
    }
  }
  await Promise.all(wires.map(loop))
  return took
}
