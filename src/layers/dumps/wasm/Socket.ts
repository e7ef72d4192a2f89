import { connect, isIP, type Socket } from "node:net"
import { type ConnectionOptions, connect as connectTls } from "node:tls"

/** Address of a server, in a form that can be sent to other threads. */
export interface DumpWasmServer {
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number }
  readonly tls: false | { readonly options: ConnectionOptions; readonly anyName: boolean }
}

const once = (socket: Socket, event: "connect" | "secureConnect") =>
  new Promise<void>((resolve, reject) => {
    socket.once(event, resolve).once("error", reject)
    socket.once("close", () => reject(new Error("The server closed the connection")))
  })

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** The server's response. More than one byte was injected by someone else, as nothing is encrypted yet. */
const sslAnswer = (socket: Socket) =>
  new Promise<string>((resolve, reject) => {
    socket.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1")))
    socket.once("error", reject).once("close", () => reject(new Error("The server closed the connection")))
  })

/** Opens a connection, encrypted if required, on which nothing has been sent yet. */
export const connectServer = async ({ address, tls }: DumpWasmServer): Promise<Socket> => {
  const socket = connect(address)
  await once(socket, "connect")
  socket.setNoDelay(true).setKeepAlive(true, 30_000)
  if (tls === false) return socket
  const answer = sslAnswer(socket)
  socket.write(sslRequest)
  if ((await answer) !== "S") throw new Error("The server does not support SSL connections")
  const named = "host" in address && isIP(address.host) === 0 ? { servername: address.host } : {}
  const host = "host" in address ? { host: address.host } : {}
  const anyName = tls.anyName ? { checkServerIdentity: () => undefined } : {}
  const secure = connectTls({ ...host, ...named, ...tls.options, ...anyName, socket })
  await once(secure, "secureConnect")
  return secure
}
