import { Data } from "effect"
import { type Socket } from "node:net"
import { errorCode } from "../process/StartError.ts"

/** Why one attempt came to nothing, without any secret. */
export class ProbeFailure extends Data.TaggedError("ProbeFailure")<{
  readonly message: string
  /** An SQLSTATE or a code of the operating system. */
  readonly code: string | null
  /** It answered: other servers of the same connection need not be tried. */
  readonly final: boolean
}> {}

/** What came of one that is good. */
export interface ProbeSuccess {
  readonly version: string | null
  /** How long it took, without what was done before in vain. */
  readonly millis: number
}

/** One address of one server. */
export interface ProbeAddress {
  /** As the connection string has it, for certificates. */
  readonly host: string
  /** What is connected to: an IP address, or a directory of Unix sockets. */
  readonly address: string
  readonly port: number
  /** To be called with the socket once it is connected; breaks the connection if it went where it must not. */
  readonly check: (socket: Socket) => void
}

/** A server outside the public Internet. */
export class Refused extends Error {
  constructor(host: string) {
    super(`Refused: ${host} is not on the public Internet (SVC_CONNECTIONS_ALLOW_PRIVATE)`)
  }
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "The server closed the connection",
  EPIPE: "The server closed the connection",
  EHOSTUNREACH: "Host unreachable",
  ENETUNREACH: "Network unreachable",
  ENOTFOUND: "No such host",
  ENODATA: "No such host",
  EAI_AGAIN: "The host's name can't be looked up at the moment",
  ETIMEDOUT: "Connection timed out",
  ENOENT: "No such socket"
}

/** What Node's sockets and drivers say, in words that don't hold the password. */
export const socketFailure = (cause: unknown, password = ""): ProbeFailure => {
  const code = errorCode(cause) ?? null
  const text = cause instanceof Error ? (cause.message.split("\n")[0] ?? "").slice(0, 300) : "The connection failed"
  const safe = password !== "" && text.includes(password) ? "The connection failed" : text
  return new ProbeFailure({ message: words[code ?? ""] ?? safe, code, final: false })
}
