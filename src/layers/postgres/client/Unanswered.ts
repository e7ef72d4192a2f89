import { connect, type Socket } from "node:net"
import { atPrimary, type Login, socketAddress } from "../Login.ts"

/** A server that is silent for this long while a statement runs is asked for a sign of life, in ms. */
const silenceMillis = 5_000
/** How long it may take to give one, in ms. */
const replyMillis = 3_000

/** PostgreSQL documentation, "Message Formats": SSLRequest. Every server replies with one byte before it does anything else. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** The requests under way, by address: all connections to a server wait for the same one. */
const asked = new Map<string, Promise<boolean>>()

/** Whether the server accepts connections and replies; of a pooler, whether PostgreSQL behind it does, too. */
const isAlive = async (login: Login): Promise<boolean> =>
  (await replies(login)) && (login.shared === undefined || (await replies(atPrimary(login.shared.behind))))

const replies = (login: Login): Promise<boolean> => {
  const address = `${login.at.host}:${login.at.port}`
  const known = asked.get(address)
  if (known !== undefined) return known
  const reply = new Promise<boolean>((done) => {
    const socket = connect(socketAddress(login.at))
    const end = (alive: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      done(alive)
    }
    const timer = setTimeout(() => end(false), replyMillis)
    socket.once("connect", () => socket.write(sslRequest))
    socket.once("data", () => end(true))
    socket.once("close", () => end(false))
    socket.on("error", () => end(false))
  }).finally(() => asked.delete(address))
  asked.set(address, reply)
  return reply
}

const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])

/** Whether a response is outstanding: something was written, or arrived, after the last ReadyForQuery. */
const watchResponses = (socket: Socket): (() => boolean) => {
  let writtenWhenReady = -1
  socket.on("data", (chunk: Uint8Array) => {
    const isReady = readyForQuery.equals(chunk.subarray(-6, -1))
    writtenWhenReady = isReady ? socket.bytesWritten : -1
  })
  return () => socket.bytesWritten !== writtenWhenReady
}

/**
 * Breaks a connection whose server has stopped responding, so that what waits for it fails: timeouts of statements are
 * PostgreSQL's own, and do not run while it is suspended or its packets are lost. A statement may take as long as it likes
 * on a server that responds; behind a pooler, no longer than the login's patience. With several servers, it is broken when another one becomes the primary, too.
 *
 * `isWaiting`: whether a response is outstanding.
 */
export const endIfUnanswered = (login: Login, socket: Socket, isWaiting = watchResponses(socket)): void => {
  login.at.servers?.join(socket, login.at)
  let [received, silent] = [0, 0]
  socket.setTimeout(silenceMillis).on("timeout", () => {
    if (!isWaiting()) return
    silent = socket.bytesRead === received ? silent + silenceMillis : silenceMillis
    received = socket.bytesRead
    if (login.shared !== undefined && silent > login.shared.patience) {
      socket.destroy(new Error("The pooler has no session"))
      return
    }
    void isAlive(login).then((alive) => {
      if (socket.destroyed || socket.bytesRead !== received) return
      if (alive) socket.setTimeout(silenceMillis)
      else socket.destroy(new Error("PostgreSQL does not respond"))
    })
  })
}
