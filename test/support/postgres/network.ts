import { connect, createServer, type AddressInfo, type Socket } from "node:net"

export interface Network extends AsyncDisposable {
  /** The same URL, through this network. */
  readonly through: (databaseUrl: string) => string
  /** Drops all packets from now on: connections stay open, new ones open, and nothing arrives. */
  readonly drop: () => void
  /** Delivers everything again, also what was sent meanwhile, as TCP does. */
  readonly deliver: () => void
}

/** A network between the service and the server of this URL. */
export const makeNetwork = async (serverUrl: string): Promise<Network> => {
  const { hostname, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let dropping = false
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      sockets.add(from)
      from.on("data", (chunk) => to.write(chunk))
      from.on("error", () => undefined)
      from.on("close", () => {
        sockets.delete(from)
        to.destroy()
      })
      if (dropping) from.pause()
    }
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const set = (drop: boolean) => () => {
    dropping = drop
    for (const socket of sockets) {
      if (drop) socket.pause()
      else socket.resume()
    }
  }
  return {
    through: (databaseUrl) => {
      const url = new URL(databaseUrl)
      url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return url.href
    },
    drop: set(true),
    deliver: set(false),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    }
  }
}
