import { Effect, Latch } from "effect"
import { SqlClient } from "effect/sql"
import { AsyncLocalStorage } from "node:async_hooks"
import { createHash } from "node:crypto"
import type { InteractionResults } from "oidc-provider"
import { type Unavailable } from "../../../domain/errors.ts"
import { onOwnTables, type OwnTablesFailure } from "../../OwnTables.ts"
import { type StoredClient } from "./clients/ClientFields.ts"

/** The stored hash of a value that is valid as a token, code, challenge or cookie. */
export const tokenHashOf = (value: string) => createHash("sha256").update(value).digest("base64url")

/** The service's own tables, for this server and for its library, which calls back with promises. */
export interface OAuth2Store {
  readonly sql: SqlClient.SqlClient
  /** Whether this service keeps the accounts, so that subjects are ids of svc.identities. */
  readonly ownAccounts: boolean
  /** Runs a statement for the library; rejects with `Unavailable` if the database can't be reached. */
  readonly ask: <A>(effect: Effect.Effect<A, OwnTablesFailure>) => Promise<A>
  /** Runs a statement for an effect. */
  readonly own: <A>(effect: Effect.Effect<A, OwnTablesFailure>) => Effect.Effect<A, Unavailable>
  /** Open when clients may have to be notified of the end of sessions; their delivery closes it. */
  readonly noticesDue: Latch.Latch
  /** A registered client. Read once for each request, in which the library needs it up to six times. */
  readonly client: (id: string) => Promise<StoredClient | undefined>
  /** Runs the library for a request. */
  readonly withRequest: <A>(run: () => A) => A
  /** The answer to a challenge with which the current request continues; undefined before `continueWith`. */
  readonly answer: () => InteractionAnswer | undefined
  readonly continueWith: (answer: InteractionAnswer) => void
}

/** An answer to a challenge. It is passed to its own request only, and not stored where others would find it. */
export interface InteractionAnswer {
  readonly uid: string
  readonly result: InteractionResults
  /** The audiences that were granted; null for logins. */
  readonly resource: ReadonlyArray<string> | null
  /** Whether the browser's session was another user's, and has ended. */
  readonly sessionLost: boolean
}

interface RequestState {
  readonly clients: Map<string, Promise<StoredClient | undefined>>
  answer: InteractionAnswer | undefined
}

/** PostgreSQL's text has no NUL and no unpaired surrogates. */
const isStorable = (id: string) => id.isWellFormed() && !id.includes("\0")

export const makeOAuth2Store = Effect.fnUntraced(function* (ownAccounts: boolean) {
  const sql = yield* SqlClient.SqlClient
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const noticesDue = yield* Latch.make(true)
  const requests = new AsyncLocalStorage<RequestState>()

  const ask: OAuth2Store["ask"] = (effect) => run(onOwnTables(effect))
  const read = async (id: string) => {
    if (!isStorable(id)) return undefined
    const [row] = await ask(sql<StoredClient>`select * from svc.oauth2_clients where id = ${id}`)
    return row
  }
  const client: OAuth2Store["client"] = (id) => {
    const known = requests.getStore()?.clients
    const found = known?.get(id) ?? read(id)
    known?.set(id, found)
    return found
  }
  const store: OAuth2Store = {
    sql,
    ownAccounts,
    ask,
    own: (effect) => onOwnTables(effect),
    noticesDue,
    client,
    withRequest: (run) => requests.run({ clients: new Map(), answer: undefined }, run),
    answer: () => requests.getStore()?.answer,
    continueWith: (answer) => {
      const state = requests.getStore()
      if (state !== undefined) state.answer = answer
    }
  }
  return store
})
