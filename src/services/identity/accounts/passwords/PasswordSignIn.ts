import { Context, Effect, Layer } from "effect"
import { TooManyRequests, type Unavailable } from "../../../../domain/errors.ts"
import { readAddress } from "../../../../domain/identity/Address.ts"
import { isImportableHash, passwordFault } from "../../../../domain/identity/Password.ts"
import { CurrentMeters } from "../../../metrics/Meters.ts"
import { AuthHooks } from "../hooks/AuthHooks.ts"
import { Limits } from "../limits/Limits.ts"
import { importedHash, isImported, Passwords } from "./Passwords.ts"
import { AccountStore, type Owner } from "../Store.ts"

/** The account of an address, with the hash that a password is compared with; null if it has none. */
interface Candidate {
  readonly owner: Owner | undefined
  readonly hash: string | null
}

/** The rules of passwords: choosing one, confirming one, and signing in with one. Both APIs of accounts use them. */
export class PasswordSignIn extends Context.Service<PasswordSignIn>()("svc/identity/PasswordSignIn", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const passwords = yield* Passwords
    const limits = yield* Limits
    const hooks = yield* AuthHooks
    const meters = yield* CurrentMeters
    const wrong = meters.counter("svc_sign_ins_refused_total", { reason: "credentials" })
    const limited = meters.counter("svc_sign_ins_refused_total", { reason: "limit" })

    const hashOf = <E>(password: string, email: string | undefined, refusal: (fault: string) => E) => {
      const fault = passwordFault(password, email)
      return fault === undefined ? passwords.hash(password) : Effect.fail(refusal(fault))
    }

    return {
      /** Fails with `refusal` unless a password is that of the hash; counts as a guess of `name`. */
      confirm: <E>(name: string, hash: string | null, password: string, refusal: E) =>
        limits.guess(
          name,
          Effect.flatMap(passwords.matches(hash, password), (right) => (right ? Effect.void : Effect.fail(refusal)))
        ),

      /** The hash of a password that an account may have; fails with what is wrong with it. */
      hashOf,

      /** The hash of what an administrator gives: a password, a hash of another server, or neither. */
      hashGiven: <E, E2>(
        given: { readonly password?: string; readonly passwordHash?: string },
        email: string | undefined,
        invalidHash: E,
        refusal: (fault: string) => E2
      ): Effect.Effect<string | undefined, E | E2 | Unavailable> => {
        const { password, passwordHash: hash } = given
        if (hash !== undefined) {
          return isImportableHash(hash) ? Effect.succeed(importedHash(hash)) : Effect.fail(invalidHash)
        }
        return password === undefined ? Effect.undefined : hashOf(password, email, refusal)
      },

      /**
       * Signs in with an address and a password. Guesses are limited, and refusals counted. `find`: the account, if the
       * address can be one; `refusal`: why it may not sign in, also for a right password; `open`: starts the session of an
       * account whose hash is still this one. Replaces a hash of another server by one of ours.
       */
      signIn: Effect.fnUntraced(function* <A, E1, E2 extends { readonly code: string }, E3>(
        identifier: string,
        password: string,
        find: (lookup: string) => Effect.Effect<Candidate, E1>,
        refusal: (owner: Owner | undefined, right: boolean) => E2 | undefined,
        wrongPassword: E2,
        open: (id: string, hash: string) => Effect.Effect<A, E3>
      ) {
        const lookup = readAddress(identifier)?.lookup
        const attempt = Effect.gen(function* () {
          const { hash, owner } = lookup === undefined ? { owner: undefined, hash: null } : yield* find(lookup)
          const right = yield* passwords.matches(hash, password)
          if (owner?.active === true && hash !== null) yield* hooks.password(owner.id, right)
          const refused = refusal(owner, right)
          if (refused !== undefined) return yield* Effect.fail(refused)
          return owner === undefined || hash === null ? yield* Effect.fail(wrongPassword) : { id: owner.id, hash }
        })
        const { hash, id } = yield* passwords.admitted(limits.guess(lookup ?? identifier, attempt)).pipe(
          Effect.tapError((error) =>
            Effect.sync(() => {
              if (error === wrongPassword) wrong()
              else if (error instanceof TooManyRequests) limited()
            })
          )
        )
        const session = yield* open(id, hash)
        if (isImported(hash)) {
          yield* store.count(
            "update svc.identities set password_hash = $3 where id = $1::text::uuid and password_hash = $2 returning 1",
            [id, hash, yield* passwords.hash(password)]
          )
        }
        return session
      })
    }
  })
}) {
  static readonly layer = Layer.effect(PasswordSignIn, PasswordSignIn.make)
}
