import { type ServerHttp2Session } from "node:http2"
import { type Socket } from "node:net"

/** After so long without a frame a connection is closed, or asked whether it is still there, in ms. */
const quietMillis = 5 * 60_000
/** How long a peer may take to answer a ping, in ms. */
const pingMillis = 20_000
/** How long a connection outlives its last call, in ms. */
const lingerMillis = 200

/** The HTTP/2 connections of one port. */
export class FlagSessions {
  readonly #sessions = new Set<ServerHttp2Session>()

  add(session: ServerHttp2Session, socket: Socket) {
    let streams = 0
    this.#sessions.add(session)
    session.once("close", () => {
      this.#sessions.delete(session)
      // Its end is sent; a peer that was about to say more does not always answer with its own.
      const lingering = setTimeout(() => socket.destroy(), lingerMillis)
      socket.once("close", () => clearTimeout(lingering))
    })
    session.on("error", () => session.destroy())
    session.on("stream", (stream) => {
      streams++
      stream.once("close", () => streams--)
    })
    const quiet = () => {
      if (streams === 0) session.close()
      else ping(session, () => session.setTimeout(quietMillis, quiet))
    }
    session.setTimeout(quietMillis, quiet)
  }

  /** Lets the calls under way finish, and takes no more. */
  close() {
    for (const session of this.#sessions) session.close()
  }

  destroy() {
    for (const session of this.#sessions) session.destroy()
  }
}

const ping = (session: ServerHttp2Session, alive: () => void) => {
  const dead = setTimeout(() => session.destroy(), pingMillis)
  session.once("close", () => clearTimeout(dead))
  session.ping((error) => {
    clearTimeout(dead)
    if (error === null) alive()
  })
}
