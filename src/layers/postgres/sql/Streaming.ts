import { type Socket } from "node:net"
import { type Cause, Deferred, Effect, Queue, Stream } from "effect"
import { type Connection } from "pg"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { CsvLines } from "../../../domain/text/csv/Lines.ts"
import { type SqlConnection } from "./Connection.ts"
import { type Done, InFlightQuery } from "./InFlightQuery.ts"
import { ScriptQuery } from "./Queries.ts"
import { RowSplitter } from "./RowSplitter.ts"
import { submit } from "./Submit.ts"

/** One statement whose rows are not read by the driver, but by `SqlConnection.diverted`. */
class DivertedQuery extends InFlightQuery<true> {
  private readonly text: string
  private readonly params: ReadonlyArray<string | Uint8Array | null>

  constructor(text: string, params: ReadonlyArray<string | Uint8Array | null>, done: Done<true>) {
    super(done)
    this.text = text
    this.params = params
  }

  submit(connection: Connection) {
    this.together(connection, () => {
      connection.parse({ name: "", text: this.text, types: [] }, true)
      connection.bind(
        { values: this.params.map((param) => (param instanceof Uint8Array ? Buffer.from(param) : param)) },
        true
      )
      connection.execute(null, true)
      this.sync(connection)
    })
  }

  protected result(): true {
    return true
  }
}

/** The target of the bytes for `COPY … FROM STDIN`. */
interface CopyTarget {
  readonly sendCopyFromChunk: (bytes: Uint8Array) => void
  readonly endCopyFrom: () => void
  readonly sendCopyFail: (reason: string) => void
}

/** `COPY … FROM STDIN`, by the simple protocol, which needs no Sync. The result is the number of rows. */
class LoadQuery extends InFlightQuery<number> {
  private readonly text: string
  private readonly onReady: (target: CopyTarget) => void
  private rows = 0

  constructor(text: string, onReady: (target: CopyTarget) => void, done: Done<number>) {
    super(done)
    this.text = text
    this.onReady = onReady
  }

  submit(connection: Connection) {
    connection.query(this.text)
  }

  override handleCopyInResponse(connection: Connection) {
    this.onReady(connection as unknown as CopyTarget)
  }

  override handleCommandComplete({ text }: { readonly text: string }) {
    this.rows = Number(/\d+$/.exec(text)?.[0] ?? 0)
  }

  protected override sync() {}

  protected result(): number {
    return this.rows
  }
}

const nothing = { row: () => undefined, statement: () => undefined }

/** A client may take as long as it likes; one that stops is disconnected. */
const withoutTimeout = (connection: SqlConnection) =>
  submit<true>(connection, (done) => connection.run(new ScriptQuery("set statement_timeout = 0", nothing, done)))

/** Bytes of lines that wait to be taken; PostgreSQL's socket rests meanwhile. */
const maxHeld = 256 * 1024
/** PostgreSQL sends 8 KiB at a time. Lines wait for so many bytes, or so many ms, because a piece costs more than its copy. */
const pieceSize = 32 * 1024
const pieceMillis = 5

/** See `Session.csv`. */
export const csvOf = (
  connection: SqlConnection,
  text: string,
  params: ReadonlyArray<string | Uint8Array | null>
): Stream.Stream<Uint8Array, DatabaseError | Unavailable> =>
  Stream.unwrap(
    Effect.gen(function* () {
      yield* withoutTimeout(connection)
      const queue = yield* Queue.unbounded<Uint8Array, DatabaseError | Unavailable | Cause.Done>()
      const { socket } = connection
      const lines = new CsvLines()
      const rows = new RowSplitter((bytes, at, size) => lines.add(bytes, at, size))
      let held = 0
      let taken = true
      let timer: NodeJS.Timeout | undefined
      const offer = (bytes: Buffer) => {
        if (!taken || bytes.length === 0) return
        Queue.offerUnsafe(queue, bytes)
        held += bytes.length
        if (held > maxHeld) socket.pause()
      }
      const offerLines = () => {
        clearTimeout(timer)
        timer = undefined
        offer(lines.take())
      }
      connection.diverted = (chunk) => {
        const before = lines.length
        const rest = rows.push(chunk)
        if (lines.length > before) connection.startCounting()
        if (lines.length >= pieceSize) offerLines()
        else if (lines.length > 0) timer ??= setTimeout(offerLines, pieceMillis)
        return rest
      }
      const ran = submit<true>(connection, (done) =>
        connection.run(
          new DivertedQuery(text, params, (ended, failure) => {
            connection.diverted = undefined
            done(ended, failure)
          })
        )
      )
      yield* Effect.forkScoped(
        Effect.matchCauseEffect(ran, {
          onSuccess: () =>
            Effect.suspend(() => {
              offerLines()
              offer(lines.end())
              return Queue.end(queue)
            }),
          onFailure: (cause) => Queue.failCause(queue, cause)
        })
      )
      // This runs before the statement is cancelled, whose end would otherwise never arrive.
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          taken = false
          clearTimeout(timer)
          socket.resume()
        })
      )
      return Stream.mapArray(Stream.fromQueue(queue), (pieces) => {
        for (const piece of pieces) held -= piece.length
        if (held <= maxHeld) socket.resume()
        return pieces
      })
    })
  )

/** Sends bytes, and waits until the socket takes more. */
const sent = (socket: Socket, target: CopyTarget, bytes: Uint8Array) =>
  Effect.callback<void>((resume) => {
    target.sendCopyFromChunk(bytes)
    if (!socket.writableNeedDrain) {
      resume(Effect.void)
      return
    }
    const done = () => {
      socket.off("drain", done).off("close", done)
      resume(Effect.void)
    }
    socket.on("drain", done).on("close", done)
    return Effect.sync(() => void socket.off("drain", done).off("close", done))
  })

/** See `Session.load`. */
export const loaded = <E>(
  connection: SqlConnection,
  text: string,
  bytes: Stream.Stream<Uint8Array, E>
): Effect.Effect<number, E | DatabaseError | Unavailable> =>
  Effect.gen(function* () {
    yield* withoutTimeout(connection)
    const ready = yield* Deferred.make<CopyTarget>()
    let over = false
    const statement = submit<number>(connection, (done) =>
      connection.run(
        new LoadQuery(
          text,
          (target) => Deferred.doneUnsafe(ready, Effect.succeed(target)),
          (rows, failure) => {
            over = true
            done(rows, failure)
          }
        )
      )
    )
    const sending = Effect.flatMap(Deferred.await(ready), (target) =>
      Stream.runForEach(bytes, (chunk) => sent(connection.socket, target, chunk)).pipe(
        Effect.andThen(Effect.sync(() => target.endCopyFrom())),
        // PostgreSQL waits for bytes and would not notice that the statement is cancelled.
        Effect.onError(() => Effect.sync(() => void (over || target.sendCopyFail("The bytes ended early"))))
      )
    )
    return yield* Effect.raceFirst(statement, Effect.andThen(sending, Effect.never))
  })
