import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

/** Below the ports that systems give to connections and to servers which ask for any. */
const [first, last] = [20_000, 32_000]

/** A port that nothing listens on, for a server that starts later: until then no other process is given it. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(first, last)
    const server = createServer()
    const isFree = await new Promise<boolean>((done) => {
      server.once("error", () => done(false))
      server.listen(port, "127.0.0.1", () => done(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, "close")
    return port
  }
}
