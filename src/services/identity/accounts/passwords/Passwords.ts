import { Context, Effect, Layer, Semaphore } from "effect"
import { randomBytes } from "node:crypto"
import { Unavailable } from "../../../../domain/errors.ts"
import { comparedPassword } from "../../../../domain/identity/Password.ts"

/** argon2id with 19 MiB and 2 passes, as OWASP recommends: 10–25 ms of a core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Hashes at a time, so that a flood of sign-ins leaves the other cores and threads to other requests. */
const slots = 2
/** Hashes that may wait for one of the slots. */
const maxWaiting = 50

/** Marks hashes that were imported: most were made of the password as it was typed. */
const imported = "imported:"
export const importedHash = (hash: string) => `${imported}${hash}`
/** The hash itself, for other servers. */
export const hashIn = (stored: string) => (isImported(stored) ? stored.slice(imported.length) : stored)
/** Whether a stored hash should be replaced after the next sign-in. */
export const isImported = (stored: string) => stored.startsWith(imported)

const busy = new Unavailable({ error: "Too many people are signing in; retry shortly", code: "SIGN_IN_BUSY" })

/** Refuses work beyond what may wait, before it costs anything. */
const makeQueue = () => {
  let admitted = 0
  return <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
    Effect.suspend((): Effect.Effect<A, E | Unavailable, R> => {
      if (admitted >= slots + maxWaiting) return Effect.fail(busy)
      admitted++
      return Effect.ensuring(
        work,
        Effect.sync(() => admitted--)
      )
    })
}

/** Hashes passwords. The libraries are loaded when the first password is. */
export class Passwords extends Context.Service<Passwords>()("svc/identity/Passwords", {
  make: Effect.gen(function* () {
    const hashing = yield* Semaphore.make(slots)
    const hashes = makeQueue()
    const inTurn = <A>(hash: () => Promise<A>) => hashes(hashing.withPermit(Effect.promise(hash)))
    const hash = (password: string) =>
      inTurn(async () => (await import("@node-rs/argon2")).hash(comparedPassword(password), cost))
    /** The hash for unknown names, so that a comparison takes as long as for known ones. */
    const ofNoAccount = yield* Effect.cached(hash(randomBytes(16).toString("hex")))

    const verify = async (stored: string, password: string) => {
      if (!isImported(stored)) return (await import("@node-rs/argon2")).verify(stored, comparedPassword(password))
      const hash = hashIn(stored)
      const isRight = async (given: string) =>
        hash.startsWith("$argon2")
          ? (await import("@node-rs/argon2")).verify(hash, given)
          : (await import("@node-rs/bcrypt")).verify(given, hash)
      const compared = comparedPassword(password)
      // An export of this service has hashes of the compared form.
      return (await isRight(password)) || (compared !== password && (await isRight(compared)))
    }

    return {
      hash,
      /**
       * The queue for sign-ins, which need a hash: refuses them before their limits are counted in the database, so that
       * a flood costs only its parsing.
       */
      admitted: makeQueue(),
      /** `stored` null: there is no account or it has no password; false, as late as for a wrong password. */
      matches: Effect.fnUntraced(function* (stored: string | null, password: string) {
        const unknown = yield* ofNoAccount
        const matching = yield* inTurn(() => verify(stored ?? unknown, password).catch(() => false))
        return stored !== null && matching
      })
    }
  })
}) {
  static readonly layer = Layer.effect(Passwords, Passwords.make)
}
