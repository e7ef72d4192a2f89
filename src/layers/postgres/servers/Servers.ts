import { type Socket } from "node:net"

/** The address at which a server listens. */
export interface HostAndPort {
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string
  readonly port: number
}

/**
 * The servers that a libpq URI lists: one of them is the primary, the others are its standbys. Connections go to the one
 * that was found to be the primary last.
 */
export class Servers {
  readonly all: ReadonlyArray<HostAndPort>
  private primary: HostAndPort
  private readonly sockets = new Map<Socket, HostAndPort>()

  constructor(first: HostAndPort, others: ReadonlyArray<HostAndPort>) {
    const primary = placeOf(first)
    this.all = [primary, ...others.map(placeOf)]
    this.primary = primary
  }

  get current(): HostAndPort {
    return this.primary
  }

  /** Breaks all connections: their server has stopped responding. */
  breakAll(): void {
    for (const socket of this.sockets.keys()) socket.destroy(new Error("The server does not respond"))
  }

  /** Counts a connection to a server, which is broken when another server becomes the primary. */
  join(socket: Socket, place: HostAndPort): void {
    this.sockets.set(socket, place)
    socket.once("close", () => this.sockets.delete(socket))
    if (!isSame(place, this.primary)) socket.destroy(moved())
  }

  /**
   * Makes another server the primary. Connections to the one before are broken, so that it acknowledges nothing more:
   * it may still run as a primary.
   */
  move(to: HostAndPort): void {
    this.primary = to
    for (const [socket, place] of this.sockets) if (!isSame(place, to)) socket.destroy(moved())
  }
}

/** The host and port alone, of a value that may have more fields. */
const placeOf = ({ host, port }: HostAndPort): HostAndPort => ({ host, port })

export const isSame = (one: HostAndPort, other: HostAndPort) => one.host === other.host && one.port === other.port

const moved = () => new Error("Another server has become the primary")
