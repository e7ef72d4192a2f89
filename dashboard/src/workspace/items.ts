import { type QueryClient, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

/** What people keep, their own and what is shared; each without its content. */
export type Entry = Wire["GET /api/workspace/items"]["success"][number]
export type Item = Wire["GET /api/workspace/items/:id"]["success"]
export type Content = Item["content"]
export type QueryContent = Extract<Content, { readonly sql: string }>
export type ViewContent = Extract<Content, { readonly table: string }>
export type BoardContent = Extract<Content, { readonly charts: ReadonlyArray<unknown> }>

/** What to list: a kind, and of views the table. */
export type Listed = Wire["GET /api/workspace/items"]["query"]

/** Characters of a name. */
export const longestName = 80

/** What a browser of an earlier version has kept goes to the service, once. */
const legacy = ["svc.sql.saved", "svc.sql.history"]
export const takeOver = async () => {
  if (!legacy.some((name) => localStorage.getItem(name) !== null)) return
  await (await import("./legacy.ts")).takeOverLegacy()
}

export const useItems = (of: Listed) =>
  useQuery({
    queryKey: ["workspace", "items", of],
    queryFn: async ({ signal }) => {
      await takeOver()
      return call("GET /api/workspace/items", { query: of, signal })
    }
  })

export const readItem = (id: number, signal?: AbortSignal): Promise<Item> =>
  call("GET /api/workspace/items/:id", { params: { id }, ...(signal === undefined ? {} : { signal }) })

export const itemsChanged = (client: QueryClient) => client.invalidateQueries({ queryKey: ["workspace", "items"] })

export const createItem = (payload: Wire["POST /api/workspace/items"]["payload"]) =>
  call("POST /api/workspace/items", { payload })

/** Fails with 412 if the item is not of this revision any more. */
export const changeItem = (
  { id, revision }: Pick<Entry, "id" | "revision">,
  payload: Wire["PATCH /api/workspace/items/:id"]["payload"]
) => call("PATCH /api/workspace/items/:id", { params: { id }, headers: { "if-match": `"${revision}"` }, payload })

/** Returns what makes it again. */
export const removeItem = async ({ id, revision }: Pick<Entry, "id" | "revision">) => {
  const { content, name, shared } = await readItem(id)
  await call("DELETE /api/workspace/items/:id", { params: { id }, headers: { "if-match": `"${revision}"` } })
  return () => createItem({ name, shared, content })
}
