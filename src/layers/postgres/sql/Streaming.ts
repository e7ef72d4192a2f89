import { type Cause, Deferred, Effect, Queue, Stream } from "effect"
import { type Socket } from "node:net"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type SqlConnection } from "./Connection.ts"
import { ScriptQuery } from "./Queries.ts"
import { type CopyTarget, LinesQuery, LoadQuery } from "./Streams.ts"
import { submit } from "./Submit.ts"

const nothing = { row: () => undefined, statement: () => undefined }

/** A client may take as long as it likes; one that stops is disconnected. */
const withoutTimeout = (connection: SqlConnection) =>
  submit<true>(connection, (done) => connection.run(new ScriptQuery("set statement_timeout = 0", nothing, done)))

/** Characters of lines that wait to be taken; PostgreSQL's socket rests meanwhile. */
const maxHeld = 256 * 1024

/** See `Session.lines`. */
export const linesOf = (
  connection: SqlConnection,
  text: string,
  params: ReadonlyArray<string | Uint8Array | null>
): Stream.Stream<string, DatabaseError | Unavailable> =>
  Stream.unwrap(
    Effect.gen(function* () {
      yield* withoutTimeout(connection)
      const queue = yield* Queue.unbounded<string, DatabaseError | Unavailable | Cause.Done>()
      const { socket } = connection
      let held = 0
      let taken = true
      const add = (line: string) => {
        connection.startCounting()
        if (!taken) return
        Queue.offerUnsafe(queue, line)
        held += line.length
        if (held > maxHeld) socket.pause()
      }
      const ran = submit<true>(connection, (done) => connection.run(new LinesQuery(text, params, add, done)))
      yield* Effect.forkScoped(
        Effect.matchCauseEffect(ran, {
          onSuccess: () => Queue.end(queue),
          onFailure: (cause) => Queue.failCause(queue, cause)
        })
      )
      // This runs before the statement is cancelled, whose end would otherwise never arrive.
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          taken = false
          socket.resume()
        })
      )
      return Stream.mapArray(Stream.fromQueue(queue), (lines) => {
        for (const line of lines) held -= line.length
        if (held <= maxHeld) socket.resume()
        return lines
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
