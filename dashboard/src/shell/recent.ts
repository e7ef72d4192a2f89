import { keepList, readList } from "../ui/page/kept.ts"

const name = "svc.tables.recent"
const most = 6

/** The tables that this browser has opened last, the latest first, as their addresses. */
export const recentTables = (): ReadonlyArray<string> =>
  readList<unknown>(name).filter((one): one is string => typeof one === "string")

export const rememberTable = (path: string) => {
  const [latest] = recentTables()
  if (latest !== path) keepList(name, [path, ...recentTables().filter((one) => one !== path)].slice(0, most))
}
