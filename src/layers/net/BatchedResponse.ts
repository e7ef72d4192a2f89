import { type IncomingMessage, type Server, ServerResponse } from "node:http"
import { type Socket } from "node:net"
import { type AnswerMemory, largeAnswer } from "../../services/access/AnswerBudget.ts"
import { IncomingRequest } from "../../services/access/IncomingRequest.ts"

/** How often sockets are looked at, in ms. */
const lookMillis = 1_000
/** A large response must be read this fast, in bytes a second, after `stallMillis`. */
const slowestRate = 64 * 1024

/** Members of a socket that Node's types do not list. */
interface SocketInternals {
  /** `bytesWritten`: bytes that were given to libuv; `writeQueueSize`: those of them that the kernel has not taken. */
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
}

interface Progress {
  readonly taken: number
  /** The time at which this was first measured, in ms. */
  readonly since: number
}

/**
 * Disconnects clients that do not read what is sent to them: their responses would stay in memory, and what produces them
 * would wait, for as long as they like.
 */
export class UnreadResponses {
  private readonly progress = new Map<Socket, Progress | undefined>()
  private looking: NodeJS.Timeout | undefined
  private readonly stallMillis: number
  private readonly memory: AnswerMemory

  constructor(stallMillis: number, memory: AnswerMemory) {
    this.stallMillis = stallMillis
    this.memory = memory
  }

  /** Looks at the server's sockets as long as it has any. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      this.progress.set(socket, undefined)
      socket.once("close", () => this.progress.delete(socket))
      this.looking ??= setInterval(() => this.look(performance.now()), lookMillis).unref()
    })
  }

  /** Counts a large response until it is sent or abandoned. */
  sending(response: ServerResponse, bytes: number): void {
    if (bytes < largeAnswer) return
    const { memory } = this
    const client = clientOf(response.req)
    const tooSlow = setTimeout(() => response.destroy(), this.stallMillis + (bytes / slowestRate) * 1000).unref()
    memory.add(client, bytes)
    response.once("close", () => {
      clearTimeout(tooSlow)
      memory.release(client, bytes)
    })
  }

  private look(now: number) {
    if (this.progress.size === 0) {
      clearInterval(this.looking)
      this.looking = undefined
    }
    for (const [socket, before] of this.progress) {
      const taken = socket.writableLength === 0 ? undefined : takenOf(socket)
      if (taken === undefined) {
        if (before !== undefined) this.progress.set(socket, undefined)
      } else if (taken !== before?.taken) this.progress.set(socket, { taken, since: now })
      else if (now - before.since >= this.stallMillis) socket.destroy()
    }
  }
}

/** Bytes that the kernel has taken: grows as long as the client reads. */
const takenOf = (socket: Socket) => {
  const handle = (socket as unknown as SocketInternals)._handle
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}

let ended: Array<() => void> = []

const sendAll = () => {
  const batch = ended
  ended = []
  for (const send of batch) send()
}

const bytesOf = (body: unknown) =>
  typeof body === "string" ? Buffer.byteLength(body) : body instanceof Uint8Array ? body.byteLength : 0

/**
 * Responses that are written at the end of the turn of the event loop in which it ended, after those of other requests. A
 * write that wakes a sleeping process costs more than the rest of a request; one that follows at once finds it awake.
 */
export const batchedResponses = (unread: UnreadResponses) =>
  class BatchedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    /** The length of the body according to the headers. */
    private bytes: number | undefined

    override writeHead(...head: ReadonlyArray<never>): this {
      const headers: Readonly<Record<string, unknown>> | undefined = head.at(-1)
      this.bytes = Number(headers?.["content-length"] ?? 0)
      return super.writeHead(...(head as unknown as [number]))
    }

    override end(...last: ReadonlyArray<never>): this {
      const [body] = last
      const plain = last.length < 2 && typeof body !== "function"
      // Only `super.end` itself may throw, so a body that does not fit the headers is ended at once.
      const bytes = bytesOf(body)
      unread.sending(this, bytes)
      if (!plain || bytes !== this.bytes) return super.end(...last)
      // Node writes head and body separately if it has to compare the lengths, which has just been done.
      this.strictContentLength = false
      const send = () => void (this.destroyed || super.end(body))
      if (ended.push(send) === 1) setImmediate(sendAll)
      return this
    }
  }

/** The client to which the memory of the response belongs. */
const clientOf = (request: IncomingMessage) =>
  (request instanceof IncomingRequest ? request.client : undefined) ?? request.socket.remoteAddress ?? ""
