import { connect, createServer, type Socket } from "node:net"
import { type AddressInfo } from "node:net"

/** A TCP proxy that can hold responses back or reject connections. */
export const startTcpGate = async (target: string) => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const gate = {
    /** Closes every new connection at once. */
    refusing: false,
    /** Responses are held back from the request that contains this text in its headers; then `whenHeld` is called. */
    holding: undefined as string | undefined,
    whenHeld: () => {}
  }
  const server = createServer((near) => {
    if (gate.refusing) {
      near.destroy()
      return
    }
    const far = connect(Number(port), hostname)
    let isHeld = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on("error", () => socket.destroy())
      socket.once("close", () => {
        sockets.delete(socket)
        for (const other of [near, far]) other.destroy()
      })
    }
    near.on("data", (bytes: Buffer) => {
      if (gate.holding !== undefined && bytes.toString("latin1").includes(gate.holding)) isHeld = true
      far.write(bytes)
    })
    far.on("data", (bytes: Buffer) => {
      if (isHeld) gate.whenHeld()
      else near.write(bytes)
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return Object.assign(gate, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    }
  })
}
