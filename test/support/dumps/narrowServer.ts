import { connect, createServer, type AddressInfo, type Socket } from "node:net"

export interface NarrowServer extends AsyncDisposable {
  readonly port: number
  /** Releases the bytes that were held back, and stops holding. */
  readonly open: () => void
  /** Resolves once something is held back. */
  readonly held: Promise<void>
}

export interface Narrowing {
  /** Delivers responses in chunks of 1–8 bytes. */
  readonly smallChunks?: boolean
  /** Passes on this many bytes of responses over all connections, and holds back the rest. */
  readonly holdAfter?: number
  /** Changes responses. */
  readonly rewrite?: (bytes: Buffer) => Buffer
}

const soon = () => new Promise((resolve) => setImmediate(resolve))

/** A proxy that slows down, holds back or changes the responses of a server. */
export const startNarrowServer = async (to: number, narrowing: Narrowing): Promise<NarrowServer> => {
  const { smallChunks = false, holdAfter = Infinity, rewrite = (bytes) => bytes } = narrowing
  const sockets = new Set<Socket>()
  const opened = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let passed = 0
  const pass = async (near: Socket, far: Socket) => {
    for await (const bytes of far as AsyncIterable<Buffer>) {
      passed += bytes.length
      if (passed > holdAfter) {
        held.resolve()
        await opened.promise
      }
      const whole = rewrite(bytes)
      for (let from = 0; from < whole.length;) {
        const n = smallChunks ? 1 + Math.floor(Math.random() * 8) : whole.length
        const isRoom = near.write(whole.subarray(from, from + n))
        from += n
        if (smallChunks) await soon()
        else if (!isRoom) await Promise.race([new Promise((done) => near.once("drain", done)), soon()])
      }
    }
    near.end()
  }
  const server = createServer((near) => {
    const far = connect(to, "127.0.0.1")
    near.setNoDelay(true)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.once("close", () => {
        sockets.delete(socket)
        if (socket === near) far.destroy()
      })
    }
    near.pipe(far)
    pass(near, far).catch(() => near.destroy())
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return {
    port: (server.address() as AddressInfo).port,
    open: () => opened.resolve(),
    held: held.promise,
    [Symbol.asyncDispose]: async () => {
      opened.resolve()
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    }
  }
}
