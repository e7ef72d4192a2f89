/** Reads whose shape is new: each is parsed, planned and perhaps prepared. */
import { list, type Pattern, reads } from "../pattern.ts"

/** 1,500 items, 12 KB. */
const wide = (n: number) => `/v1/db/notes?limit=1&select=z${n}:id,${list(1500, (item) => `b${item}:id`)}`
const narrow = (n: number) => `/v1/db/notes?limit=1&select=z${n}:id,body`
const twice = (n: number) => Math.floor(n / 2)

/** A tree of conditions, `depth` levels deep, with a value of its own at each. */
const tree = (depth: number, n: number): string =>
  depth === 0
    ? `plain.eq.${n}`
    : `plain.eq.${depth * 7},${depth % 2 === 0 ? "and" : "or"}(${tree(depth - 1, n)},label.neq.x)`

export const shapes: ReadonlyArray<Pattern> = [
  { name: "wide-shapes", title: "1,500 selected items in 12 KB, each time other ones", attack: reads(wide) },
  { name: "wide-shapes-twice", title: "the same, each twice", attack: reads((n) => wide(twice(n))) },
  { name: "narrow-shapes", title: "short queries, each time another", attack: reads(narrow) },
  { name: "narrow-shapes-twice", title: "the same, each twice", attack: reads((n) => narrow(twice(n))) },
  {
    name: "in-lists",
    title: "`in.(…)` with 2,000 values, each time other ones",
    needs: ["large"],
    attack: reads((n) => `/v1/db/large?select=id&plain=in.(${list(2000, (item) => n * 2000 + item)})`)
  },
  {
    name: "logic-trees",
    title: "conditions nested 60 levels deep over 500,000 rows",
    needs: ["large"],
    attack: reads((n) => `/v1/db/large?select=id&limit=1&or=(${tree(59, n)})`)
  },
  {
    name: "long-filters",
    title: "600 filters on one column over 500,000 rows",
    needs: ["large"],
    attack: reads(
      (n) =>
        `/v1/db/large?select=id&limit=1&${Array.from({ length: 600 }, (_, item) => `plain=neq.${n * 600 + item}`).join("&")}`
    )
  }
]
