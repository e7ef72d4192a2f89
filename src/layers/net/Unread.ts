import { type Server, type ServerResponse } from "node:http"
import { type Socket } from "node:net"
import { type AnswerMemory, largeAnswer } from "../../services/access/AnswerBudget.ts"

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
  private readonly stallMillis: number
  private readonly memory: AnswerMemory

  constructor(stallMillis: number, memory: AnswerMemory) {
    this.stallMillis = stallMillis
    this.memory = memory
  }

  /** Looks at the server's sockets until it closes. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      this.progress.set(socket, undefined)
      socket.once("close", () => this.progress.delete(socket))
    })
    const looking = setInterval(() => this.look(performance.now()), lookMillis).unref()
    server.once("close", () => clearInterval(looking))
  }

  /** Counts a large response until it is sent or abandoned. */
  sending(response: ServerResponse, bytes: number): void {
    if (bytes < largeAnswer) return
    const { memory } = this
    const client = memory.clientOf(response.req)
    const tooSlow = setTimeout(() => response.destroy(), this.stallMillis + (bytes / slowestRate) * 1000).unref()
    memory.add(client, bytes)
    response.once("close", () => {
      clearTimeout(tooSlow)
      memory.release(client, bytes)
    })
  }

  private look(now: number) {
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
