/** Reads of related tables. */
import { request } from "../client.ts"
import { list, type Pattern, reads, requests } from "../pattern.ts"

/** `parents(children(parents(…)))`, `depth` levels deep: each parent has ten children. */
export const amplified = (depth: number): string => {
  if (depth === 0) return "id"
  return `id,${depth % 2 === 0 ? "children" : "parents"}(${amplified(depth - 1)})`
}
const many = (count: number, n: number) =>
  `/v1/db/children?limit=1&select=id,${list(count, (item) => `z${n}_${item}:parents(name)`)}`

export const embeds: ReadonlyArray<Pattern> = [
  { name: "embeds-50", title: "50 embeds of one row, each time a new shape", attack: reads((n) => many(50, n)) },
  { name: "embeds-400", title: "400 embeds, which are too many", attack: reads((n) => many(400, n)) },
  {
    name: "embeds-deep",
    title: "embeds 10 levels deep, which multiply one row to 100,000",
    attack: reads((n) => `/v1/db/parents?id=eq.${1 + (n % 100)}&select=${amplified(10)}`)
  },
  {
    name: "embeds-wide",
    title: "10,000 wide rows with 10 rows embedded in each",
    needs: ["wide"],
    attack: reads(() => "/v1/db/wide?select=*,wide_parts(*)")
  },
  {
    name: "costly-literal-embeds",
    title: "embeds that find nothing, eight times; then with a literal that finds 100,000 rows",
    attack: requests(({ key }) => (n) => {
      const id = n % 9 === 8 ? 1 : -1
      const path = `/v1/db/parents?id=eq.${id}&select=z${Math.floor(n / 9) % 1000}:id,${amplified(10)}`
      return request("GET", path, { apikey: key })
    })
  }
]
