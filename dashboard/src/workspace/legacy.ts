import { keepList, readList } from "../ui/page/kept.ts"
import type { Values } from "../ui/page/queries.ts"
import { ApiError, codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { createItem, readItem } from "./items.ts"

interface LegacyQuery {
  readonly name: string
  readonly text: string
  readonly values?: Values
}
interface LegacyRun {
  readonly at: number
  readonly text: string
  readonly values?: Values
  readonly millis?: number
}

const [queries, history] = ["svc.sql.saved", "svc.sql.history"] as const
/** Characters of statements in one request, of which the service reads at most 1 MiB. */
const mostCharacters = 200_000

/** Adds a query; one of another browser with the same name and another text stays beside it. */
const add = async ({ name, text, values = {} }: LegacyQuery) => {
  const content = { sql: text, values }
  try {
    await createItem({ name, content })
  } catch (error) {
    if (codeOf(error) !== "WORKSPACE_NAME_TAKEN") throw error
    const there = (await call("GET /api/workspace/items", { query: { kind: "query" } })).find(
      (one) => one.mine && one.name === name
    )
    const item = there === undefined ? undefined : await readItem(there.id)
    if (item !== undefined && "sql" in item.content && item.content.sql === text) return
    const beside = `${name.slice(0, 60)} (${new Date().toISOString().slice(0, 16)})`
    await createItem({ name: beside, content })
  }
}

const takeOverQueries = async () => {
  let left = readList<Partial<LegacyQuery>>(queries)
  for (const query of left) {
    const { name, text } = query
    // What the service refuses stays in the browser.
    const isValid = typeof name === "string" && name.trim() !== "" && typeof text === "string" && text !== ""
    try {
      if (isValid) await add({ ...query, name, text })
    } catch (error) {
      if (error instanceof ApiError && error.status < 500 && error.status !== 401) continue
      throw error
    }
    left = left.filter((one) => one !== query)
    keepList(queries, left)
  }
  if (left.length === 0) localStorage.removeItem(queries)
}

const takeOverHistory = async () => {
  const all = readList<Partial<LegacyRun>>(history)
  let part: Array<{ sql: string; at: string; values?: Values; milliseconds?: number }> = []
  let characters = 0
  const send = async () => {
    if (part.length > 0) await call("POST /api/workspace/history", { payload: { statements: part } })
    part = []
    characters = 0
  }
  for (const { at = NaN, millis, text = "", values } of all) {
    const size = text.length + JSON.stringify(values ?? {}).length
    if (text === "" || size > 16_000 || Number.isNaN(at)) continue
    if (characters + size > mostCharacters) await send()
    characters += size
    part.push({
      sql: text,
      at: new Date(at).toISOString(),
      ...(values === undefined ? {} : { values }),
      ...(millis === undefined ? {} : { milliseconds: millis })
    })
  }
  await send()
  localStorage.removeItem(history)
}

let running: Promise<void> | undefined

/** Moves the queries and the history that this browser has kept to the service. */
export const takeOverLegacy = () =>
  (running ??= (async () => {
    await takeOverQueries()
    await takeOverHistory()
  })().finally(() => {
    running = undefined
  }))
