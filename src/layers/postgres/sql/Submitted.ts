import { type Connection, DatabaseError as ServerError, type Submittable } from "pg"

/** Called once, with a result or with whatever the driver gave as the reason. */
export type Done<A> = (result: A | undefined, failure: unknown) => void

export interface RowDescription {
  readonly fields: ReadonlyArray<{
    readonly name: string
    readonly dataTypeID: number
    readonly dataTypeModifier: number
  }>
}

/** A query that is written in the same packet as the one before it, and begins when that has ended. */
export interface Follower {
  readonly write: (connection: Connection) => void
  readonly begin: () => void
}

/** Messages that come with any statement. The driver calls these methods by name. */
export abstract class Submitted<A> implements Submittable {
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

  /** The server is ready for the next one. */
  protected ended() {}

  /** Ends when the server is ready again, so that the state of its transaction is known then. */
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

  /** COPY is refused before it gets here; should one come along all the same, it must not wait for data for ever. */
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

  /** Everything that is written meanwhile leaves in one packet. */
  protected together(connection: Connection, send: () => void) {
    connection.stream.cork()
    try {
      send()
    } finally {
      connection.stream.uncork()
    }
  }
}
