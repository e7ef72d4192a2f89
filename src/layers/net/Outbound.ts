import { type LookupAddress, type LookupOptions } from "node:dns"

/** Looks up all addresses of a name, as `node:dns` does. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: Array<LookupAddress>) => void
) => void

/** A host outside the public Internet. `setting` is the variable that allows it. */
export class NotPublic extends Error {
  constructor(host: string, setting: string) {
    super(`Refused: ${host} is not on the public Internet (${setting})`)
  }
}

/** Messages for error codes of sockets and name look-ups. */
export const socketMessages: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "The server closed the connection",
  EPIPE: "The server closed the connection",
  EHOSTUNREACH: "Host unreachable",
  ENETUNREACH: "Network unreachable",
  ENOTFOUND: "No such host",
  ENODATA: "No such host",
  EAI_AGAIN: "The host name can't be resolved at the moment",
  ETIMEDOUT: "Connection timed out",
  ENOENT: "No such socket"
}
