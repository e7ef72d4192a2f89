import { Effect, Queue } from "effect"
import { type EventText, gapText } from "../../domain/realtime/Event.ts"
import { parseExact } from "../../domain/text/JsonText.ts"
import { aLoopTurn } from "../LoopTurn.ts"
import { logFailure } from "../OwnTables.ts"
import { type Actor } from "../ports/Db.ts"
import { type RealtimeAccess, type Readers } from "./Access.ts"
import { type RealtimeClients } from "./Clients.ts"
import { type KeyedTable, makeVisible, readerKey, type Row } from "./Visible.ts"

/** Events of one table that are judged together, and those that may wait. */
const batch = 100
const maxWaiting = 10_000
/** How long events may be sent before the event loop serves others, in ms. */
const turnMillis = 10

/** What an event's text has. */
interface Change {
  readonly operation: "INSERT" | "UPDATE" | "DELETE"
  readonly row: Row | null
  readonly old_row: Row | null
}

/** Policies are asked about the new row only: of the old one, clients receive the key. */
const withoutOldRow = (text: string, change: Change, { columns }: KeyedTable) => {
  const { old_row } = change
  if (old_row === null) return text
  const key = columns.flatMap(({ name }) => (Object.hasOwn(old_row, name) ? [[name, old_row[name]] as const] : []))
  return JSON.stringify({ ...change, old_row: Object.fromEntries(key) })
}

/** Events of one table, and who receives which. */
interface Judged {
  readonly texts: ReadonlyArray<string>
  /** By `readerKey`; undefined: unknown, because the policies could not be evaluated. */
  readonly receives: (key: string, n: number) => boolean | undefined
}

const tableOf = ({ schema, table }: EventText) => JSON.stringify([schema, table])

/**
 * The feed of clients with a JWT. They receive the events of tables that `authenticated` may read, and of tables with
 * row-level security those of rows that their policies let them read, asked once for all clients with the same claims.
 * Evaluation takes time, and a client receives its events in their order, so that later ones wait for those before.
 */
export const makePolicyFeed = Effect.fnUntraced(function* (clients: RealtimeClients, access: RealtimeAccess) {
  const visible = yield* makeVisible
  const events = yield* Queue.unbounded<EventText>()
  let waiting = 0
  /** The first and the last event that did not fit among those that wait. */
  let dropped: readonly [first: number, last: number] | undefined

  const judge = Effect.fnUntraced(function* (
    some: ReadonlyArray<EventText>,
    actors: ReadonlyMap<string, Actor>,
    { authenticated, known, secured }: Readers
  ): Effect.fn.Return<Judged> {
    if (secured === null)
      return { texts: some.map(({ text }) => text), receives: () => (known ? authenticated : undefined) }
    const changes = some.map(({ text }) => parseExact(text) as Change)
    const rows = new Map(changes.flatMap(({ row }, n) => (row === null ? [] : [[n, row] as const])))
    const seen = yield* visible(rows, actors, secured)
    return {
      texts: changes.map((change, n) => withoutOldRow(some[n]?.text ?? "", change, secured)),
      // A row that is gone can't be asked for.
      receives: (key: string, n: number) => changes[n]?.operation === "DELETE" || seen.get(key)?.has(n)
    }
  })

  const readersOf = ([first]: ReadonlyArray<EventText>) => access.readers(first?.schema ?? "", first?.table ?? "")

  /** Events of one table, in their order. */
  const deliver = Effect.fnUntraced(function* (some: ReadonlyArray<EventText>) {
    const actors = new Map([...clients.judged].map(([key, { actor }]) => [key, actor]))
    const { receives, texts } = yield* judge(some, actors, yield* readersOf(some))
    let turn = performance.now()
    const last = some.at(-1)?.id ?? 0
    const missing = new Set<string>()
    for (const [n, { id }] of some.entries()) {
      for (const key of actors.keys()) {
        const may = receives(key, n)
        if (may === true) clients.sendJudged(key, id, texts[n] ?? "")
        if (may === undefined) missing.add(key)
      }
      if (performance.now() - turn > turnMillis) {
        yield* aLoopTurn
        turn = performance.now()
      }
    }
    for (const key of missing) clients.sendGapTo(key, gap(some[0]?.id ?? last, last))
  })

  const gap = (first: number, last: number) => gapText(first - 1, last)

  const work = Effect.gen(function* () {
    const taken = yield* Queue.takeBetween(events, 1, batch)
    let run: Array<EventText> = []
    const flush = () => Effect.catchCause(deliver(run), logFailure("Failed to send events to clients with a JWT"))
    for (const event of taken) {
      const [first] = run
      if (first !== undefined && tableOf(first) !== tableOf(event)) {
        yield* flush()
        run = []
      }
      run.push(event)
    }
    yield* flush()
    waiting -= taken.length
    if (waiting === 0 && dropped !== undefined) {
      for (const key of clients.judged.keys()) clients.sendGapTo(key, gap(...dropped))
      dropped = undefined
    }
    yield* Effect.yieldNow
  })
  yield* Effect.forkScoped(Effect.forever(work))

  return {
    /** Sends an event to clients with a JWT, after those before it. Does not wait. */
    send: (event: EventText, readers: Readers) => {
      if (clients.judged.size === 0 && waiting === 0) return
      if (waiting === 0 && readers.secured === null) {
        if (!readers.known) for (const key of clients.judged.keys()) clients.sendGapTo(key, gap(event.id, event.id))
        if (!readers.authenticated) return
        for (const key of clients.judged.keys()) clients.sendJudged(key, event.id, event.text)
      } else if (waiting < maxWaiting) {
        waiting++
        Queue.offerUnsafe(events, event)
      } else {
        dropped = [dropped?.[0] ?? event.id, event.id]
      }
    },
    /** Those of the events, oldest first, that a client may receive, as JSON texts; and whether all of them are known. */
    select: Effect.fnUntraced(function* (some: ReadonlyArray<EventText>, actor: Actor) {
      const key = readerKey(actor)
      const found: Array<readonly [id: number, text: string]> = []
      let complete = true
      for (const ofTable of Map.groupBy(some, tableOf).values()) {
        const { receives, texts } = yield* judge(ofTable, new Map([[key, actor]]), yield* readersOf(ofTable))
        for (const [n, { id }] of ofTable.entries()) {
          const may = receives(key, n)
          if (may === true) found.push([id, texts[n] ?? ""])
          complete &&= may !== undefined
        }
      }
      return { texts: found.toSorted(([one], [other]) => one - other).map(([, text]) => text), complete }
    })
  }
})
