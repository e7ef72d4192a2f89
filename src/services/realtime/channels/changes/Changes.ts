import { Effect, Queue } from "effect"
import { type EventText } from "../../../../domain/realtime/Event.ts"
import { parseExact } from "../../../../domain/text/JsonText.ts"
import { logFailure } from "../../../OwnTables.ts"
import { aLoopTurn } from "../../../LoopTurn.ts"
import { type Actor } from "../../../ports/Db.ts"
import { makeVisible, readerKey, type Sight } from "../../Visible.ts"
import { type ChangeBinding, type Member, bindingsOf, sendSystem, sendTo } from "../Rooms.ts"
import { type FilterComparison, comparisonKey, type Filter, makeFilters, passes } from "./Filters.ts"
import { type RecordedChange, dataText, makeRows, rowOf } from "./Record.ts"
import { type Shape, makePublication, makeShapes, mayRead } from "./Shapes.ts"

/** Changes of one table that are evaluated together, and those that may wait. */
const batch = 100
const maxWaiting = 10_000
/** How long filters may be tested before the event loop serves others, in ms. */
const turnMillis = 10

/** A binding of a member that stands. */
interface Listening {
  readonly member: Member
  readonly binding: ChangeBinding
  readonly filter: Filter
  readonly select: ReadonlyArray<string> | undefined
}

const selectOf = ({ request: { select } }: ChangeBinding) => {
  const names = typeof select === "string" ? select.split(",").map((name) => name.trim()) : select
  return names === undefined || names === null || names.length === 0 || names.includes("*") ? undefined : names
}

/** The table of a binding, or `*` for all. */
const tableKey = ({ request: { schema = "public", table } }: ChangeBinding) => JSON.stringify([schema, table ?? "*"])

const describe = ({ request: { event, filter, schema, table } }: ChangeBinding) =>
  `event: ${event}, schema: ${schema ?? "public"}, table: ${table ?? "*"}, filter: ${filter ?? "none"}`

/** `postgres_changes`: changes of the publication's tables, to those who may read the rows. */
export const makeChanges = Effect.fnUntraced(function* (interrupt: () => void) {
  const shapes = yield* makeShapes
  const filters = yield* makeFilters
  const { complete, conditioned } = yield* makeRows
  const visible = yield* makeVisible
  const publication = yield* makePublication()
  const listening = new Map<Member, ReadonlyArray<Listening>>()
  const byTable = new Map<string, Set<Listening>>()
  const events = yield* Queue.dropping<EventText>(maxWaiting)

  const prepare = Effect.fnUntraced(function* (member: Member, binding: ChangeBinding) {
    const { filter, schema = "public", table } = binding.request
    const select = selectOf(binding)
    if (table === undefined || table === null || table === "*" || schema === "*") {
      if (filter) return yield* Effect.fail("a filter requires a table")
      return { member, binding, filter: [], select }
    }
    const shape = yield* Effect.mapError(shapes.find(schema, table), () => "the database is unreachable")
    if (shape === undefined) {
      return yield* Effect.fail("please check Realtime is enabled for the given connect parameters")
    }
    const { role } = member.actor
    const unknown = select?.find((name) => !shape.columns.some((one) => one.name === name && mayRead(role, one)))
    if (unknown !== undefined) return yield* Effect.fail(`invalid column for select ${unknown.slice(0, 63)}`)
    return { member, binding, filter: filter ? yield* filters.compile(filter, shape, role) : [], select }
  })

  /** Makes the bindings of a member stand, and reports it. */
  const start = Effect.fnUntraced(function* (member: Member) {
    const prepared: Array<Listening> = []
    for (const binding of member.changes) {
      const ready = yield* Effect.result(prepare(member, binding))
      if (ready._tag === "Failure") {
        const message = `Unable to subscribe to changes with given parameters: ${ready.failure} [${describe(binding)}]`
        return sendSystem(member, "postgres_changes", "error", message.slice(0, 1000))
      }
      prepared.push(ready.success)
    }
    if (member.left) return undefined
    listening.set(member, prepared)
    for (const one of prepared) {
      const key = tableKey(one.binding)
      byTable.set(key, (byTable.get(key) ?? new Set()).add(one))
    }
    const synced = yield* Effect.result(publication.sync)
    if (member.left) return undefined
    return synced._tag === "Success"
      ? sendSystem(member, "postgres_changes", "ok", "Subscribed to PostgreSQL")
      : sendSystem(member, "postgres_changes", "error", "Unable to subscribe to changes: the database is unreachable")
  })

  /** The members that requested an operation on a table, and may receive it. */
  const listenersOf = (shape: Shape, operation: RecordedChange["operation"]) => {
    const all: Array<Listening> = []
    for (const table of [shape.table, "*"]) {
      for (const schema of [shape.schema, "*"]) {
        for (const one of byTable.get(JSON.stringify([schema, table])) ?? []) {
          const { event } = one.binding.request
          if (event !== "*" && event !== operation) continue
          if (shape.columns.some((column) => mayRead(one.member.actor.role, column))) all.push(one)
        }
      }
    }
    return all
  }

  const readable = (shape: Shape, role: Actor["role"]) =>
    new Set(shape.columns.filter((column) => mayRead(role, column)).map(({ name }) => name))

  /** Changes of one table, in their order. */
  const deliver = Effect.fnUntraced(function* (all: ReadonlyArray<EventText>) {
    const [first] = all
    if (first === undefined || listening.size === 0) return
    const shape = yield* shapes.find(first.schema, first.table)
    if (shape === undefined) return
    const parsed = all
      .map(({ text }) => parseExact(text) as RecordedChange)
      .filter(({ operation }) => shape.operations[operation] && listenersOf(shape, operation).length > 0)
    if (parsed.length === 0) return
    const changes = yield* complete(parsed, shape)
    const rows = changes.map((change) => rowOf(change, shape))
    const conditionRows = changes.map(({ old_row, row }) => row ?? old_row ?? {})
    const published = yield* conditioned(conditionRows, shape)

    // The first pass collects the comparisons that PostgreSQL must make.
    const asked = new Map<string, readonly [FilterComparison, string]>()
    let known: ReadonlySet<string> | undefined
    const compare = (comparison: FilterComparison, value: string) => {
      const key = comparisonKey(comparison, value)
      if (known === undefined) asked.set(key, [comparison, value])
      return known?.has(key) ?? true
    }
    const columns = {
      anon: readable(shape, "anon"),
      authenticated: readable(shape, "authenticated"),
      service_role: readable(shape, "service_role")
    }
    const listeners = changes.map(({ operation }, n) => (published.has(n) ? listenersOf(shape, operation) : []))
    const passing = Effect.gen(function* () {
      const chosen: Array<ReadonlyArray<Listening>> = []
      let turn = performance.now()
      for (const [n, some] of listeners.entries()) {
        const mine: Array<Listening> = []
        for (const one of some) {
          if (performance.now() - turn > turnMillis) {
            yield* aLoopTurn
            turn = performance.now()
          }
          if (passes(one.filter, rows[n] ?? {}, columns[one.member.actor.role], compare)) mine.push(one)
        }
        chosen.push(mine)
      }
      return chosen
    })
    yield* passing
    known = yield* filters.compareAll(asked)
    const chosen = yield* passing

    const readers = new Map<string, Actor>()
    const secured = new Map<number, (typeof rows)[number]>()
    if (shape.secured) {
      for (const [n, some] of chosen.entries()) {
        if (changes[n]?.operation === "DELETE") continue
        for (const { member } of some) {
          if (member.actor.role === "service_role") continue
          readers.set(readerKey(member.actor), member.actor)
          secured.set(n, rows[n] ?? {})
        }
      }
    }
    const names = {
      anon: [...columns.anon],
      authenticated: [...columns.authenticated],
      service_role: [...columns.service_role]
    }
    const seen = yield* visible(secured, readers, { ...shape, readable: (role) => names[role] })
    for (const [n, some] of chosen.entries()) {
      const change = changes[n]
      if (change === undefined) continue
      const open = !shape.secured || change.operation === "DELETE"
      const sightOf = ({ filter, member: { actor } }: Listening): Sight | undefined => {
        if (open || actor.role === "service_role") return "values"
        const sight = seen.get(readerKey(actor))?.get(n)
        // A filter that matches would reveal values that the reader may not see.
        return sight === "key" && filter.length > 0 ? undefined : sight
      }
      const bySight = Map.groupBy(some, sightOf)
      send(change, shape, bySight.get("values") ?? [])
      send({ ...change, keyOnly: true }, shape, bySight.get("key") ?? [])
    }
  })

  /** One message to each member for all of its bindings that select the same columns. */
  const send = (change: RecordedChange, shape: Shape, some: ReadonlyArray<Listening>) => {
    const texts = new Map<string, string>()
    const ids = new Map<Member, Map<string, Array<number>>>()
    for (const { binding, member, select } of some) {
      if (!listening.has(member)) continue
      const key = JSON.stringify([member.actor.role, select ?? null])
      if (!texts.has(key)) texts.set(key, dataText(change, shape, member.actor.role, select))
      const mine = ids.get(member) ?? new Map<string, Array<number>>()
      ids.set(member, mine.set(key, [...(mine.get(key) ?? []), binding.id]))
    }
    for (const [member, mine] of ids) {
      for (const [key, numbers] of mine) {
        sendTo(member, "postgres_changes", `{"ids":${JSON.stringify(numbers)},"data":${texts.get(key) ?? "{}"}}`)
      }
    }
  }

  const leave = (member: Member) => {
    for (const one of listening.get(member) ?? []) {
      const key = tableKey(one.binding)
      const all = byTable.get(key)
      if (all?.delete(one) === true && all.size === 0) byTable.delete(key)
    }
    listening.delete(member)
  }

  const work = Effect.gen(function* () {
    const taken = yield* Queue.takeBetween(events, 1, batch)
    let run: Array<EventText> = []
    const flush = () => {
      const some = run
      run = []
      return Effect.catchCause(deliver(some), logFailure("Failed to send changes of a table to channels"))
    }
    for (const event of taken) {
      const [first] = run
      if (first !== undefined && (first.schema !== event.schema || first.table !== event.table)) yield* flush()
      run.push(event)
    }
    yield* flush()
    yield* Effect.yieldNow
  })
  yield* Effect.forkScoped(Effect.forever(work))

  return {
    bindings: bindingsOf,
    start,
    leave,
    /** Takes a change from the feed. */
    take: (event: EventText) => {
      if (listening.size > 0 && !Queue.offerUnsafe(events, event)) interrupt()
    }
  }
})
export type ChannelChanges = Effect.Success<ReturnType<typeof makeChanges>>
