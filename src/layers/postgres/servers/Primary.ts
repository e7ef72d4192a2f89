import { Effect, Semaphore } from "effect"
import { type Client } from "pg"
import { internalsOf, newClient } from "../client/Client.ts"
import { atPlace, type Login, ownSearchPath } from "../Login.ts"
import { MainSessions } from "../MainSessions.ts"
import { isSame, type HostAndPort } from "./Servers.ts"

/** ms that a server may take to answer before it counts as gone. */
const answerMillis = 1_500
/** Pause between rounds, in ms: while the primary answers, and while none is known. */
const [calmPause, urgentPause] = [1_000, 250]

/**
 * The file that the server writes its log to, which begins with its timeline in eight hexadecimal digits. A promotion
 * begins a new timeline. Null on a standby.
 */
const timelineSql = `select case when pg_catalog.pg_is_in_recovery() then null
  else pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) end as file`

/** One of the servers, asked over a connection that is kept. */
class Candidate {
  readonly place: HostAndPort
  private readonly login: Login
  private client: Client | undefined

  constructor(login: Login, place: HostAndPort) {
    this.place = place
    this.login = atPlace(login, place)
  }

  /** Its timeline if it is a primary; undefined if it is a standby, or does not answer. */
  async timeline(): Promise<number | undefined> {
    try {
      const client = this.client ?? (await this.open())
      const file = (await client.query<{ readonly file: string | null }>(timelineSql)).rows[0]?.file
      return file == null ? undefined : Number.parseInt(file.slice(0, 8), 16)
    } catch {
      this.close()
      return undefined
    }
  }

  close() {
    const { client } = this
    this.client = undefined
    void client?.end().catch(() => undefined)
  }

  private async open() {
    const settings = { search_path: ownSearchPath, statement_timeout: String(answerMillis) }
    const more = { connectionTimeoutMillis: answerMillis, query_timeout: answerMillis }
    const client = newClient(this.login, "primary", settings, more)
    client.on("error", () => this.close())
    this.client = client
    await client.connect()
    return client
  }
}

/**
 * Finds the primary among the servers of a login, again and again until the scope closes. If several report to be the
 * primary, the one on the newest timeline is: it was promoted last. Completes after the first round; does nothing for a
 * login with one server.
 */
export const followPrimary = Effect.fnUntraced(function* (login: Login) {
  const { servers } = login.at
  if (servers === undefined) return
  const candidates = servers.all.map((place) => new Candidate(login, place))
  yield* Effect.addFinalizer(() => Effect.sync(() => candidates.forEach((candidate) => candidate.close())))
  const turn = yield* Semaphore.make(1)
  let [begun, paused, lost] = [false, false, false]

  const round = Effect.gen(function* () {
    if (paused) return
    const found = yield* Effect.promise(() =>
      Promise.all(
        candidates.map(async (candidate) => ({ place: candidate.place, timeline: await candidate.timeline() }))
      )
    )
    const primaries = found.flatMap(({ place, timeline }) => (timeline === undefined ? [] : [{ place, timeline }]))
    const newest = Math.max(...primaries.map(({ timeline }) => timeline))
    const best = primaries.filter(({ timeline }) => timeline === newest)
    const { current } = servers
    const next = best.find(({ place }) => isSame(place, current)) ?? best[0]
    if (next === undefined) {
      if (!lost) yield* Effect.logWarning("None of the servers of DATABASE_URL is a primary that answers")
    } else if (!isSame(next.place, current)) {
      servers.move(next.place)
      const log = begun ? Effect.logWarning : Effect.logInfo
      yield* log(`The primary is the server ${next.place.host}:${next.place.port}`)
    } else if (lost) yield* Effect.logWarning("The primary answers again")
    lost = next === undefined
    begun = true
  }).pipe(turn.withPermit)

  yield* (yield* MainSessions).add({
    pause: Effect.suspend(() => {
      paused = true
      return turn.withPermit(Effect.sync(() => candidates.forEach((candidate) => candidate.close())))
    }),
    resume: Effect.sync(() => {
      paused = false
    })
  })
  yield* round
  yield* Effect.suspend(() => Effect.sleep(lost ? urgentPause : calmPause)).pipe(
    Effect.andThen(round),
    Effect.forever,
    Effect.forkScoped
  )
})

/** Makes a client fail to connect to a server in recovery, to which writes would fail. PostgreSQL names its state at once. */
export const requirePrimary = (client: Client): void => {
  const { connection } = internalsOf(client)
  connection.on("parameterStatus", (message: { readonly parameterName: string; readonly parameterValue: string }) => {
    if (message.parameterName !== "in_hot_standby" || message.parameterValue !== "on") return
    connection.stream.destroy(new Error("The server is a standby"))
  })
}
