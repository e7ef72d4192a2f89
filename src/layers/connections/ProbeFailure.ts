import { Data } from "effect"
import { type Socket } from "node:net"
import { NotPublic, socketMessages } from "../net/Outbound.ts"
import { errorCode } from "../process/StartError.ts"

/** Why one attempt failed; contains no secret. */
export class ProbeFailure extends Data.TaggedError("ProbeFailure")<{
  readonly message: string
  /** An SQLSTATE or a code of the operating system. */
  readonly code: string | null
  /** The server responded, so the other servers of the connection are not tried. */
  readonly final: boolean
}> {}

/** A successful attempt. */
export interface ProbeSuccess {
  readonly version: string | null
  /** Its duration, without the failed attempts before it. */
  readonly millis: number
}

/** One address of one server. */
export interface ProbeAddress {
  /** The host as written in the connection string, for certificates. */
  readonly host: string
  /** An IP address or a directory of Unix sockets. */
  readonly address: string
  readonly port: number
  /** Must be called once the socket is connected; destroys it if the peer is not allowed. */
  readonly check: (socket: Socket) => void
}

export const notPublic = (host: string) => new NotPublic(host, "SVC_CONNECTIONS_ALLOW_PRIVATE")

/** An error of a Node socket or driver, with a message that does not contain the password. */
export const socketFailure = (cause: unknown, password = ""): ProbeFailure => {
  const code = errorCode(cause) ?? null
  const text = cause instanceof Error ? (cause.message.split("\n")[0] ?? "").slice(0, 300) : "The connection failed"
  const safe = password !== "" && text.includes(password) ? "The connection failed" : text
  return new ProbeFailure({ message: socketMessages[code ?? ""] ?? safe, code, final: false })
}
