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

/** The fields of an event's text. */
interface Change {
  readonly operation: "INSERT" | "UPDATE" | "DELETE"
  readonly row: Row | null
  readonly old_row: Row | null
  readonly timestamp: string
}

const keyOf = (row: Row | null, { columns }: KeyedTable) =>
  row && Object.fromEntries(columns.flatMap(({ name }) => (Object.hasOwn(row, name) ? [[name, row[name]]] : [])))

/**
 * Policies are evaluated for the new row only; of the old one, clients receive the key. The text is serialized again,
 * so that it has the values that were compared: a json column may have a key twice.
 */
const withoutOldRow = (change: Change, table: KeyedTable) =>
  JSON.stringify({ ...change, old_row: keyOf(change.old_row, table) })

/** The event for readers that may only receive the key. */
const withKeys = ({ operation, row, old_row, timestamp, ...change }: Change, table: KeyedTable) =>
  JSON.stringify({
    ...change,
    operation,
    row: keyOf(row, table),
    old_row: keyOf(old_row, table),
    truncated: true,
    timestamp
  })

/** Events of one table, and who receives which. */
interface Judged {
  /** The event's text by `readerKey`; null: it is not sent. Undefined: unknown, because the policies could not be evaluated. */
  readonly textFor: (key: string, n: number) => string | null | undefined
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
      return { textFor: (_, n) => (known ? (authenticated ? (some[n]?.text ?? null) : null) : undefined) }
    const changes = some.map(({ text }) => parseExact(text) as Change)
    const rows = new Map(changes.flatMap(({ row }, n) => (row === null ? [] : [[n, row] as const])))
    const seen = yield* visible(rows, actors, secured)
    const texts = changes.map((change) => ({
      values: withoutOldRow(change, secured),
      key: withKeys(change, secured)
    }))
    return {
      textFor: (key: string, n: number) => {
        // A row that is gone can't be asked for, and its text has the key alone.
        if (changes[n]?.operation === "DELETE") return texts[n]?.values ?? null
        const sights = seen.get(key)
        const sight = sights?.get(n)
        return sights && (sight === undefined ? null : (texts[n]?.[sight] ?? null))
      }
    }
  })

  const readersOf = ([first]: ReadonlyArray<EventText>) => access.readers(first?.schema ?? "", first?.table ?? "")

  /** Events of one table, in their order. */
  const deliver = Effect.fnUntraced(function* (some: ReadonlyArray<EventText>) {
    const actors = new Map([...clients.judged].map(([key, { actor }]) => [key, actor]))
    const { textFor } = yield* judge(some, actors, yield* readersOf(some))
    let turn = performance.now()
    const last = some.at(-1)?.id ?? 0
    const missing = new Set<string>()
    for (const [n, { id }] of some.entries()) {
      for (const key of actors.keys()) {
        const text = textFor(key, n)
        if (typeof text === "string") clients.sendJudged(key, id, text)
        if (text === undefined) missing.add(key)
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
    /** The events, oldest first, that a client may receive, as JSON texts; and whether the list is complete. */
    select: Effect.fnUntraced(function* (some: ReadonlyArray<EventText>, actor: Actor) {
      const key = readerKey(actor)
      const found: Array<readonly [id: number, text: string]> = []
      let complete = true
      for (const ofTable of Map.groupBy(some, tableOf).values()) {
        const { textFor } = yield* judge(ofTable, new Map([[key, actor]]), yield* readersOf(ofTable))
        for (const [n, { id }] of ofTable.entries()) {
          const text = textFor(key, n)
          if (typeof text === "string") found.push([id, text])
          complete &&= text !== undefined
        }
      }
      return { texts: found.toSorted(([one], [other]) => one - other).map(([, text]) => text), complete }
    })
  }
})
