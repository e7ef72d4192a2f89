import { type Connection, DatabaseError as ServerError, type Submittable } from "pg"

/** Called once, with a result or with the driver's error. */
export type Done<A> = (result: A | undefined, failure: unknown) => void

export interface RowDescription {
  readonly fields: ReadonlyArray<{
    readonly name: string
    readonly dataTypeID: number
    readonly dataTypeModifier: number
  }>
}

/** A query that is sent in the same packet as the one before it, and begins when that has ended. */
export interface Follower {
  readonly write: (connection: Connection) => void
  readonly begin: () => void
}

/** A query in progress: handles the messages that any statement can cause. The driver calls these methods by name. */
export abstract class InFlightQuery<A> implements Submittable {
  private synced = false
  private readonly done: Done<A>

  constructor(done: Done<A>) {
    this.done = done
  }

  abstract submit(connection: Connection): void
  protected abstract result(): A

  handleReadyForQuery() {
    this.ended()
    this.done(this.result(), undefined)
  }

  /** Runs when the server is ready for the next query. */
  protected ended() {}

  /** Completes only when the server is ready again: the transaction's state is known then. */
  handleError(error: unknown, connection: Connection) {
    if (!(error instanceof ServerError)) {
      this.done(undefined, error)
      return
    }
    const done = () => {
      connection.off("readyForQuery", done)
      connection.off("end", done)
      this.ended()
      this.done(undefined, error)
    }
    connection.on("readyForQuery", done)
    connection.on("end", done)
    this.sync(connection)
  }

  handleEmptyQuery(connection: Connection) {
    this.sync(connection)
  }

  /** COPY is rejected earlier; if one gets here all the same, it must not wait for data forever. */
  handleCopyInResponse(connection: Connection) {
    const copying = connection as unknown as { readonly sendCopyFail: (reason: string) => void }
    copying.sendCopyFail("COPY FROM STDIN is not supported")
  }

  handleCopyData() {}
  handleRowDescription(_message: RowDescription) {}
  handleDataRow(_message: { readonly fields: ReadonlyArray<string | null> }) {}
  handlePortalSuspended(_connection: Connection) {}
  handleCommandComplete(_message: { readonly text: string }, _connection: Connection) {}

  /** Ends the implicit transaction, once. */
  protected sync(connection: Connection) {
    if (this.synced) return
    this.synced = true
    connection.sync()
  }

  /**
   * Sends everything that `send` writes in one packet. The messages are joined first: writing a list of buffers takes twice
   * the time of writing one.
   *
   * @returns false when the buffer of the connection is full; what `write` returns to `send` says nothing
   */
  protected together(connection: Connection, send: () => void): boolean {
    const { stream } = connection
    const messages: Array<Buffer> = []
    const write = stream.write
    let writable = true
    stream.write = (message: unknown) => messages.push(message as Buffer) > 0
    try {
      send()
    } finally {
      stream.write = write
      if (messages.length > 0) writable = stream.write(Buffer.concat(messages))
    }
    return writable
  }
}
