import { type ServerHttp2Session } from "node:http2"
import { type Socket } from "node:net"

/** Idle time after which a connection is closed, or pinged if it has open streams, in ms. */
const quietMillis = 5 * 60_000
/** Time limit for the answer to a ping, in ms. */
const pingMillis = 20_000
/** Time between the end of a session and the end of its socket, in ms. */
const lingerMillis = 200

/** The HTTP/2 connections of one port. */
export class FlagSessions {
  readonly #sessions = new Set<ServerHttp2Session>()

  add(session: ServerHttp2Session, socket: Socket) {
    let streams = 0
    this.#sessions.add(session)
    session.once("close", () => {
      this.#sessions.delete(session)
      // The end of the session is sent, but a peer with more to send does not always close its side.
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

  /** Lets open calls finish and accepts no new ones. */
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
