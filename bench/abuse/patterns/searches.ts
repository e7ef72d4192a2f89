/** Reads that cost PostgreSQL much time. */
import { list, type Pattern, reads } from "../pattern.ts"

const matching = (operator: string, pattern: string, column = "letters") =>
  reads((n) => `/v1/db/texts?select=id&id=neq.${-n}&${column}=${operator}.${encodeURIComponent(pattern)}`)
const counting = (kind: string) =>
  reads(
    (n) => `/v1/db/large?select=id&limit=1&plain=gte.${n}`,
    () => ({ prefer: `count=${kind}` })
  )

export const searches: ReadonlyArray<Pattern> = [
  {
    name: "costly-literal",
    title: "a filter that finds nothing, eight times; then with a literal that has 500,000 rows sorted",
    needs: ["large"],
    attack: reads((n) => {
      const than = n % 9 === 8 ? 0 : 1_000_000
      return `/v1/db/large?select=z${Math.floor(n / 9) % 1000}:id&n=gt.${than}&order=label,plain&limit=1`
    })
  },
  {
    name: "regex-repeats",
    title: "`match.(a{1,200}){1,200}c`",
    needs: ["texts"],
    attack: matching("match", "(a{1,200}){1,200}c")
  },
  {
    name: "regex-repeats-imatch",
    title: "`imatch.(a{1,100}){1,100}c`",
    needs: ["texts"],
    attack: matching("imatch", "(a{1,100}){1,100}c")
  },
  {
    name: "regex-backtracking",
    title: "a regular expression with back references over texts of 10 KB",
    needs: ["texts"],
    attack: matching("match", "^(a*)(a*)(a*)\\1\\2\\3b$")
  },
  {
    name: "ilike",
    title: "`ilike` with 50 `*` over texts of 10 KB",
    needs: ["texts"],
    attack: matching("ilike", `${"*a".repeat(50)}*b`)
  },
  {
    name: "full-text",
    title: "full-text search without an index over texts of 15 KB",
    needs: ["texts"],
    attack: matching("wfts", "word1 or word2 or word3", "words")
  },
  {
    name: "order-many",
    title: "500,000 rows ordered by 100 terms",
    needs: ["large"],
    attack: reads(
      (n) =>
        `/v1/db/large?select=id&limit=1&id=neq.${-n}&order=${list(100, (item) => ["label", "plain.desc", "n"][item % 3] ?? "")}`
    )
  },
  {
    name: "large-offset",
    title: "10,000 rows behind an offset of 490,000",
    needs: ["large"],
    attack: reads((n) => `/v1/db/large?offset=490000&limit=10000&order=label&id=neq.${-n}`)
  },
  { name: "count-exact", title: "`count=exact` over 500,000 rows", needs: ["large"], attack: counting("exact") },
  { name: "count-planned", title: "`count=planned`", needs: ["large"], attack: counting("planned") },
  { name: "count-estimated", title: "`count=estimated`", needs: ["large"], attack: counting("estimated") },
  {
    name: "plans",
    title: "`Accept: application/vnd.pgrst.plan+json; options=analyze`",
    needs: ["large"],
    attack: reads(
      (n) => `/v1/db/large?select=id&plain=eq.${n}`,
      () => ({ accept: "application/vnd.pgrst.plan+json; options=analyze|verbose|buffers" })
    )
  }
]
