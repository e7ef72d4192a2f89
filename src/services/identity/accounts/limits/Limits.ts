import { Context, Effect, Layer, Schema } from "effect"
import { TooManyRequests } from "../../../../domain/errors.ts"
import { type MailText } from "../../../../domain/language/Language.ts"
import { CurrentDevice } from "../../../ports/identity/Accounts.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { Devices } from "./Devices.ts"
import { hashOf, AccountStore } from "../Store.ts"

const Row = Schema.Struct({ count: Schema.Int, seconds: Schema.Int })

/** Wrong passwords of one name from one place without a wait; then 1, 2, 4 … 60 s. */
const freeGuesses = 5
/** Wrong passwords of one name in an hour, from all places without an earlier sign-in by it (ASVS: at most 100). */
const guessesOfStrangers = 100
/** Days for which the address of a client that has signed in is kept. */
const knownDays = 30

/** What one client may attempt: how often, in how many seconds. */
const ofClients = {
  "anonymous of": [30, 3600],
  "flows of": [60, 60],
  "mailed codes of": [100, 3600]
} as const

/** Window of SVC_AUTH_REGISTRATION_LIMIT, in s. */
const registrationSeconds = 300

/** What may be attempted on one account or address. */
const ofNames = { "factors of": [20, 3600], "addresses of": [5, 3600], "codes of": [15, 3600] } as const

/** Mails of one kind to one address in 15 minutes: of all clients together, and of one client. */
const mailsToAddress = 10
const mailsOfClientToAddress = 4
/** Mails of all kinds that one client may request in an hour. */
const mailsOfClient = 30

const exceeded = (seconds: number) =>
  new TooManyRequests({
    error: `Too many attempts; retry in ${Math.max(1, seconds)} s`,
    code: "TOO_MANY_GUESSES",
    retry_after: Math.max(1, seconds)
  })

/**
 * Limits of attempts, counted in PostgreSQL, so that they hold for all replicas together and survive a restart. An attempt
 * is counted before it is verified: parallel ones can't pass the limit together.
 */
export class Limits extends Context.Service<Limits>()("svc/identity/Limits", {
  make: Effect.gen(function* () {
    const ofClient = {
      ...ofClients,
      "registrations of": [(yield* AccountSettings).registrationsOfClient, registrationSeconds]
    } as const
    const store = yield* AccountStore
    const devices = yield* Devices
    const rows = store.rows(Row)
    const keyOf = (purpose: string, name: string) => `${purpose} ${hashOf(name)}`
    const secondsSql = "greatest(0, ceil(extract(epoch from until - now())))::int4 as seconds"

    /** Counts in a window that starts with the first attempt. */
    const counted = (purpose: string, name: string, seconds: number) =>
      Effect.map(
        rows(
          `insert into svc.identity_guesses as g (key, count, until, expires_at)
         values ($1, 1, now() + make_interval(secs => $2::float8), now() + make_interval(secs => $2::float8))
         on conflict (key) do update set
           count = case when g.until <= now() then 1 else g.count + 1 end,
           until = case when g.until <= now() then excluded.until else g.until end,
           expires_at = case when g.until <= now() then excluded.until else g.until end
         returning count, ${secondsSql}`,
          [keyOf(purpose, name), seconds]
        ),
        ([row]) => row ?? { count: 1, seconds }
      )
    const uncount = (purpose: string, name: string) =>
      store.count("update svc.identity_guesses set count = greatest(0, count - 1) where key = $1 returning 1", [
        keyOf(purpose, name)
      ])

    /** 429 above `limit` in `seconds`. */
    const takeOf = Effect.fnUntraced(function* (purpose: string, name: string, limit: number, seconds: number) {
      const now = yield* counted(purpose, name, seconds)
      if (now.count > limit) return yield* exceeded(now.seconds)
    })
    /** 429 above `limit` in `seconds` for the client that sends the request. */
    const takeOfClient = Effect.fnUntraced(function* (purpose: keyof typeof ofClient) {
      const { client } = yield* CurrentDevice
      if (client !== undefined) yield* takeOf(purpose, client, ofClient[purpose][0], ofClient[purpose][1])
    })
    const allows = (purpose: string, name: string, limit: number, seconds: number) =>
      Effect.map(counted(purpose, name, seconds), ({ count }) => count <= limit)

    /**
     * Lets each name and place wait for longer with every wrong guess, whether anyone has this name or not. Parallel guesses wait for
     * each other's row: now() is when a statement began, which may be before the guess that it waited for.
     */
    const slowDown = Effect.fnUntraced(function* (key: string) {
      const allowed = yield* store.count(
        `insert into svc.identity_guesses as g (key, count, until, expires_at)
       values ($1, 1, clock_timestamp(), now() + interval '1 hour')
       on conflict (key) do update set
         count = case when g.expires_at <= now() then 1 else least(g.count, 100) + 1 end,
         until = clock_timestamp() + make_interval(secs => case when g.expires_at <= now() or g.count < $2::int4 then 0
           else least(60, power(2, least(g.count - $2::int4, 10))) end),
         expires_at = now() + interval '1 hour'
       where g.until <= clock_timestamp() returning 1`,
        [key, freeGuesses]
      )
      if (allowed > 0) return
      const [row] = yield* rows(`select count, ${secondsSql} from svc.identity_guesses where key = $1`, [key])
      return yield* exceeded(row?.seconds ?? 1)
    })

    return {
      take: (purpose: keyof typeof ofNames, name: string) =>
        takeOf(purpose, name, ofNames[purpose][0], ofNames[purpose][1]),
      /** Takes back an attempt that was right. */
      refund: (purpose: string, name: string) => Effect.asVoid(uncount(purpose, name)),
      takeOfClient,
      refundClient: (purpose: keyof typeof ofClient) =>
        Effect.flatMap(CurrentDevice, ({ client }) =>
          client === undefined ? Effect.void : Effect.asVoid(uncount(purpose, client))
        ),
      /** Whether a limit allows something that is silently skipped otherwise: the client gets no error. */
      allows,
      /** Whether the client may request another mail, of this kind to this address. */
      mailOfClient: Effect.fnUntraced(function* (kind: MailText, lookup: string) {
        const { client } = yield* CurrentDevice
        if (client === undefined) return true
        return (
          (yield* allows("mails of", client, mailsOfClient, 3600)) &&
          (yield* allows(`${kind} mails of a client to`, `${client} ${lookup}`, mailsOfClientToAddress, 900))
        )
      }),
      /** Whether an address may get another mail of this kind. Ask only when one is about to be sent. */
      mailTo: (kind: MailText, lookup: string) => allows(`${kind} mails to`, lookup, mailsToAddress, 900),
      /**
       * Limits guesses of a password: of each client, of each place that guesses a name, and of all places together
       * without an earlier sign-in by the name. The last limit, which strangers can use up, does not keep out a browser or an
       * address that has. A right password counts for none.
       */
      guess: Effect.fnUntraced(function* <A, E, R>(name: string, attempt: Effect.Effect<A, E, R>) {
        const { client } = yield* CurrentDevice
        const device = yield* devices.known(name)
        if (client !== undefined) yield* takeOf("password of", client, 30, 60)
        const key = keyOf("password", `${name} ${device ?? client}`)
        yield* slowDown(key)
        const place = keyOf("place of", `${name} ${client}`)
        const known =
          device !== undefined ||
          client === undefined ||
          (yield* store.count("select 1 from svc.identity_guesses where key = $1 and expires_at > now()", [place])) > 0
        if (!known) yield* takeOf("strange places of", name, guessesOfStrangers, 3600)
        const result = yield* attempt
        yield* store.count("delete from svc.identity_guesses where key = $1 returning 1", [key])
        if (client === undefined) return result
        yield* uncount("password of", client)
        if (!known) yield* uncount("strange places of", name)
        yield* store.count(
          `insert into svc.identity_guesses (key, count, until, expires_at) values ($1, 0, now(), now() + make_interval(days => ${knownDays}))
         on conflict (key) do update set expires_at = excluded.expires_at returning 1`,
          [place]
        )
        return result
      })
    }
  })
}) {
  static readonly layer = Layer.effect(Limits, Limits.make)
}
