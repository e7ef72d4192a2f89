import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"

/**
 * SHA-256 of bytes while they pass. `through` gives the same stream, `value` the digest (lower-case hex) once that has
 * ended. Not keyed: who could change the record of a backup can change everything else too, and `sha256sum` must do to
 * check a file by hand, also without the encryption key.
 */
export const makeDigest = () => {
  const hash = createHash("sha256")
  return {
    through: <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<Uint8Array, E> =>
      Stream.tap(bytes, (piece) => Effect.sync(() => hash.update(piece))),
    value: () => hash.digest("hex")
  }
}

/** SHA-256 of a stream in lower-case hex. */
export const digestOf = <E>(bytes: Stream.Stream<Uint8Array, E>): Effect.Effect<string, E> =>
  Effect.suspend(() => {
    const digest = makeDigest()
    return Effect.map(Stream.runDrain(digest.through(bytes)), digest.value)
  })
