import { connect, createServer, type Socket } from "node:net"

/** What the proxy knows of a connection to PostgreSQL. */
interface Server {
  readonly socket: Socket
  /** Receives its messages at the moment. */
  client: Client | undefined
}

interface Client {
  readonly socket: Socket
  server: Server | undefined
  /** Its session has been opened: from now on, it has a server only within a transaction. */
  open: boolean
}

/** Calls `each` with every message of PostgreSQL's protocol (type, length, body) as a whole. */
const messages = (each: (message: Buffer) => void) => {
  let pending = Buffer.alloc(0)
  return (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= 5) {
      const length = 1 + pending.readUInt32BE(1)
      if (pending.length < length) return
      each(pending.subarray(0, length))
      pending = pending.subarray(length)
    }
  }
}

const fatal = (text: string) => {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${text}\0\0`)
  const head = Buffer.alloc(5)
  head.write("E")
  head.writeUInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

/**
 * A connection pooler in transaction mode, as PgBouncer is: a client that is in no transaction has no session, and gets the
 * one that was released last. `startup: "refused"`: it also does not accept settings in the startup message.
 */
export const startPooler = async (
  to: { readonly host: string; readonly port: number },
  startup: "accepted" | "refused" = "accepted"
) => {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined))
    return socket
  }
  /** Sessions without a client; the last one is used next. */
  const idle: Array<Server> = []

  const serverFor = (client: Client) => {
    const server: Server = { socket: keep(connect(to.port, to.host)), client }
    server.socket.on(
      "data",
      messages((message) => {
        const { client } = server
        client?.socket.write(message)
        const isReady = message[0] === 0x5a && message[5] === 0x49 // ReadyForQuery, not in a transaction
        if (client === undefined || !isReady) return
        client.open = true
        client.server = undefined
        server.client = undefined
        idle.push(server)
      })
    )
    return server
  }

  const proxy = createServer((socket) => {
    const client: Client = { socket: keep(socket), server: undefined, open: false }
    const later = messages((message) => {
      if (message[0] === 0x58) return void socket.end() // Terminate
      client.server ??= idle.pop() ?? serverFor(client)
      client.server.client = client
      client.server.socket.write(message)
    })
    socket.on("data", (chunk: Buffer) => {
      if (client.open) return later(chunk)
      if (startup === "refused" && chunk.includes("options\0")) {
        return void socket.end(fatal("unsupported startup parameter in options: search_path"))
      }
      // The client's own startup and authentication open a new session.
      client.server ??= serverFor(client)
      client.server.socket.write(chunk)
    })
  })
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening))
  const { port } = proxy.address() as { readonly port: number }
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => proxy.close(closed))
    }
  }
}
